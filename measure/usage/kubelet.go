package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// KubeletInterval is about how often a kubelet reads its own statistics.
const KubeletInterval = 15 * time.Second

// kubelets asks the kubelets for their own statistics. These come through the API server (nodes/NAME/proxy), which
// takes a right that can do much more than read. They are coarser than a
// sampler's: each kubelet reads when it likes, every 10 to 15 s, stamps whole
// seconds by its own node's clock, forgets a pod with its last container, and
// knows neither throttling nor what runs beside the pods but itself and the
// container runtime.
type kubelets struct {
	observer *Observer
	mu       sync.Mutex // of a round of questions
	groups   map[string][]reading.Group
	numbers  map[string]int // of a group, by node and path
	last     map[string]int64
}

func newKubelets(ob *Observer) *kubelets {
	return &kubelets{observer: ob, groups: map[string][]reading.Group{}, numbers: map[string]int{}, last: map[string]int64{}}
}

// poll asks every kubelet. Nothing makes one read at once.
func (k *kubelets) poll(ctx context.Context, _ bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	nodes, err := kube.Nodes(ctx, k.observer.options.Kube)
	if err != nil {
		return err
	}
	var problems []error
	for _, n := range nodes {
		text, err := k.observer.options.Kube.Clientset.CoreV1().RESTClient().Get().
			Resource("nodes").Name(n.Name).SubResource("proxy").Suffix("stats/summary").Do(ctx).Raw()
		var summary summary
		if err == nil {
			err = json.Unmarshal(text, &summary)
		}
		if err != nil {
			err = fmt.Errorf("statistics of the kubelet on node %s: %w", n.Name, err)
			k.observer.fault(n.Name, err)
			problems = append(problems, err)
			continue
		}
		k.take(n.Name, &summary)
	}
	return errors.Join(problems...)
}

// A summary is what is used of the kubelet's stats/v1alpha1 Summary.
type summary struct {
	Node struct {
		summaryStats
		System []struct {
			Name string `json:"name"`
			summaryStats
		} `json:"systemContainers"`
	} `json:"node"`
	Pods []struct {
		Ref struct {
			UID string `json:"uid"`
		} `json:"podRef"`
		summaryStats
		Network *struct {
			Time time.Time `json:"time"`
			In   *int64    `json:"rxBytes"`
			Out  *int64    `json:"txBytes"`
		} `json:"network"`
	} `json:"pods"`
}

type summaryStats struct {
	CPU *struct {
		Time time.Time `json:"time"`
		Used *int64    `json:"usageCoreNanoSeconds"`
	} `json:"cpu"`
	Memory *struct {
		Usage      *int64 `json:"usageBytes"`
		WorkingSet *int64 `json:"workingSetBytes"`
		RSS        *int64 `json:"rssBytes"`
	} `json:"memory"`
}

func (k *kubelets) take(node string, s *summary) {
	ob := k.observer
	var fresh []reading.Reading
	put := func(g reading.Group, stats summaryStats, in, out int64) {
		if stats.CPU == nil || stats.CPU.Used == nil {
			return
		}
		at := int64(stats.CPU.Time.Sub(ob.start))
		key := node + " " + g.Path
		if before, ok := k.last[key]; ok && at <= before {
			return // the kubelet has not read since
		}
		k.last[key] = at
		number := k.number(node, g)
		r := reading.Reading{Group: number, At: at, In: in, Out: out, Counters: cgroup.Counters{
			CPU: *stats.CPU.Used, Throttled: cgroup.Unknown, Usage: cgroup.Unknown, WorkingSet: cgroup.Unknown, Anon: cgroup.Unknown,
			Peak: cgroup.Unknown, StallCPU: cgroup.Unknown, StallMemory: cgroup.Unknown, StallIO: cgroup.Unknown,
		}}
		if m := stats.Memory; m != nil {
			r.Usage, r.WorkingSet, r.Anon = known(m.Usage), known(m.WorkingSet), known(m.RSS)
		}
		fresh = append(fresh, r)
	}
	put(reading.Group{Kind: reading.Node, Path: "/"}, s.Node.summaryStats, cgroup.Unknown, cgroup.Unknown)
	for _, c := range s.Node.System {
		if c.Name != "pods" { // all pods together
			put(reading.Group{Kind: reading.Other, Path: "/" + c.Name}, c.summaryStats, cgroup.Unknown, cgroup.Unknown)
		}
	}
	for _, p := range s.Pods {
		var in, out int64 = cgroup.Unknown, cgroup.Unknown
		if p.Network != nil {
			in, out = known(p.Network.In), known(p.Network.Out)
		}
		put(reading.Group{Kind: reading.Pod, Path: "/pods/" + p.Ref.UID, Pod: p.Ref.UID}, p.summaryStats, in, out)
	}
	ob.record(node, k.groups[node], fresh, func(at int64) int64 { return at })
	ob.mu.Lock()
	ob.every[node] = int64(KubeletInterval)
	ob.mu.Unlock()
}

func (k *kubelets) number(node string, g reading.Group) int {
	key := node + " " + g.Path
	n, ok := k.numbers[key]
	if !ok {
		n = len(k.groups[node])
		k.numbers[key] = n
		k.groups[node] = append(k.groups[node], g)
	}
	return n
}

func known(v *int64) int64 {
	if v == nil {
		return cgroup.Unknown
	}
	return *v
}
