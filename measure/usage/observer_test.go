package usage

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// A node is a sampler whose readings a test makes up. Its clock is an hour
// ahead.
type node struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	instance string
	groups   []reading.Group
	readings []reading.Reading
	asked    int
}

const ahead = time.Hour

func startNode(t *testing.T) *node {
	n := &node{t: t, instance: "first"}
	n.server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.server.Close)
	return n
}

func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	a := reading.Answer{Instance: n.instance, Version: 2, Interval: int64(time.Second)}
	since, groups := number(r.FormValue("since")), number(r.FormValue("groups"))
	if r.FormValue("instance") != n.instance {
		since, groups = 0, 0
	}
	a.First, a.FirstGroup = since, groups
	a.Groups, a.Readings = n.groups[groups:], n.readings[since:]
	a.Now = time.Now().Add(ahead).UnixNano()
	_ = json.NewEncoder(w).Encode(a)
}

func (n *node) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

func number(text string) (n int) {
	for _, c := range text {
		n = n*10 + int(c-'0')
	}
	return n
}

// put adds a reading of a group at an instant of the runner's clock.
func (n *node) put(at time.Time, g reading.Group, cpu time.Duration, memory, in, out int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := -1
	for i, known := range n.groups {
		if known.Path == g.Path {
			number = i
		}
	}
	if number < 0 {
		number = len(n.groups)
		n.groups = append(n.groups, g)
	}
	n.readings = append(n.readings, reading.Reading{
		Group: number, At: at.Add(ahead).UnixNano(), In: in, Out: out,
		Counters: cgroup.Counters{CPU: int64(cpu), WorkingSet: memory, Throttled: int64(cpu) / 10, StallCPU: cgroup.Unknown},
	})
}

// restart gives the sampler another life, in which it knows nothing any more.
func (n *node) restart() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.instance, n.groups, n.readings = "second", nil, nil
}

func podOf(namespace, name, app string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.9",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://c-" + name}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func observe(t *testing.T, n *node, pods ...*corev1.Pod) *Observer {
	t.Helper()
	api := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	c, err := kube.New(t.Context(), api.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		api.Put(t, p)
	}
	ob, err := Start(t.Context(), Options{Kube: c, Namespace: "run", Token: "secret", Poll: time.Hour,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "10.0.0.9:8090" {
				t.Errorf("asked at %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, n.server.Listener.Addr().String())
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ob.Close)
	return ob
}

var (
	wholeNode = reading.Group{Kind: reading.Node, Path: "/"}
	allPods   = reading.Group{Kind: reading.Pods, Path: "/kubepods"}
	proxy     = reading.Group{Kind: reading.Pod, Path: "/kubepods/pod1", Pod: "uid-proxy"}
	envoy     = reading.Group{Kind: reading.Container, Path: "/kubepods/pod1/c", Pod: "uid-proxy", Container: "c-proxy"}
	late      = reading.Group{Kind: reading.Pod, Path: "/kubepods/pod2", Pod: "uid-late"}
	file      = reading.Group{Kind: reading.Pod, Path: "/kubepods/pod3", Pod: "hash-of-file"}
	stranger  = reading.Group{Kind: reading.Pod, Path: "/kubepods/pod4", Pod: "uid-nobody-knows"}
	etcd      = reading.Group{Kind: reading.Other, Path: "/system.slice/etcd.service"}
)

func roles(m Member) string {
	switch {
	case m.Name == "etcd" || m.Pod != nil && m.Pod.Namespace == "kube-system":
		return "kubernetes"
	case m.Pod != nil && m.Pod.Labels["app"] == "proxy":
		return "data-plane"
	}
	return ""
}

// TestWindow: a window of 10 s on known readings, by a sampler whose clock is
// an hour off, and that is restarted within.
func TestWindow(t *testing.T) {
	n := startNode(t)
	static := podOf("kube-system", "static", "", func(p *corev1.Pod) {
		p.Annotations = map[string]string{hashAnnotation: "hash-of-file"}
		p.Spec.HostNetwork = true
	})
	start := time.Now().Add(-30 * time.Second)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * 1e9)) }
	const ms = time.Millisecond
	all := func(seconds float64, node, pods, one, fresh, system, service time.Duration, memory int64) {
		when := at(seconds)
		n.put(when, wholeNode, node, 1000, -1, -1)
		n.put(when, allPods, pods, 600, -1, -1)
		n.put(when, proxy, one, memory, int64(one), 2*int64(one))
		n.put(when, envoy, one, memory, -1, -1)
		if fresh > 0 {
			n.put(when, late, fresh, memory, 7, 8)
		}
		n.put(when, file, system, 50, 1e9, 1e9)
		n.put(when, etcd, service, 20, -1, -1)
		n.put(when, stranger, 0, 10, -1, -1)
	}
	all(0, 1000*ms, 500*ms, 100*ms, 0, 10*ms, 1*ms, 300)
	all(10, 2000*ms, 700*ms, 200*ms, 0, 20*ms, 2*ms, 300)
	n.put(at(12), late, 0, 0, 0, 0)
	ob := observe(t, n, podOf("infra", "proxy", "proxy", nil), podOf("infra", "late", "proxy", nil), static, podOf("run", SamplerName, SamplerName, nil))
	n.restart()
	all(15, 3000*ms, 900*ms, 300*ms, 40*ms, 30*ms, 3*ms, 200)
	all(20, 4000*ms, 1900*ms, 400*ms, 50*ms, 40*ms, 4*ms, 100)
	if err := ob.Edge(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Not right at a reading: its instant is known to within half a round trip.
	w := ob.Window(at(9.95), at(20.05), roles)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 0.01*math.Abs(want)+1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	data := w.Uses["data-plane"]
	near("CPU", data.CPU, 0.250)
	near("throttled, of pods and containers", data.Throttled, 0.045)
	near("bytes in", data.In, 200e6+7)
	near("bytes out", data.Out, 400e6+8)
	near("memory at the begin", data.Begin, 300)
	near("memory at the end", data.End, 200)
	near("peak", data.Peak, 400)
	near("stalled", data.Stalled, math.NaN())
	system := w.Uses["kubernetes"]
	near("CPU of Kubernetes", system.CPU, 0.022)
	near("bytes into a pod in the node's network", system.In, math.NaN())
	near("CPU of the rest", w.Uses[Rest].CPU, 2-0.250-0.022)
	near("memory of the rest", w.Uses[Rest].End, 1000-200-70)
	if w.Gap < 4900*ms || w.Gap > 5100*ms || w.GapNode != "n1" || w.Interval != time.Second || len(w.Faults) != 0 {
		t.Errorf("gap %v on %s, interval %v, faults %v", w.Gap, w.GapNode, w.Interval, w.Faults)
	}
	var names []string
	for _, one := range w.Each {
		names = append(names, one.Role+" "+one.String())
	}
	if got := strings.Join(names, ", "); got != "data-plane infra/late, data-plane infra/proxy, kubernetes etcd, kubernetes kube-system/static" {
		t.Errorf("members %s", got)
	}
	if n := len(w.At); n < 3 || w.At[0] != 0 || math.Abs(w.At[n-1]-10.1) > 1e-6 || len(w.CPU["data-plane"]) != n || len(w.Memory[Rest]) != n {
		t.Errorf("instants %v", w.At)
	}
	near("CPU at the last instant", w.CPU["data-plane"][len(w.At)-1], 0.250)
}

// TestStartNeedsSamplers: it waits for them, as long as its context does.
func TestStartNeedsSamplers(t *testing.T) {
	api := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	c, err := kube.New(t.Context(), api.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		pods := func(r string) bool { return strings.Contains(r, "/pods") }
		for len(slices.DeleteFunc(api.Requests(), func(r string) bool { return !pods(r) })) < 2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // it lists pods, and watches them
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
	}()
	if _, err := Start(ctx, Options{Kube: c, Namespace: "run", Token: "secret"}); err == nil || !strings.Contains(err.Error(), "no sampler runs in namespace run") {
		t.Errorf("error %v", err)
	}
}

// TestStartWaitsForSamplersThatAreStarting: a window that begins without them
// would be worth nothing.
func TestStartWaitsForSamplersThatAreStarting(t *testing.T) {
	n := startNode(t)
	n.put(time.Now(), wholeNode, time.Second, 1000, -1, -1)
	second := podOf("run", "sampler-2", SamplerName, func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Conditions[0].Status = "n2", corev1.ConditionFalse
	})
	api := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	c, err := kube.New(t.Context(), api.Config())
	if err != nil {
		t.Fatal(err)
	}
	api.Put(t, podOf("run", "sampler-1", SamplerName, nil))
	api.Put(t, second)
	ready := make(chan struct{})
	go func() {
		for n.questions() < 10 {
			time.Sleep(time.Millisecond)
		}
		close(ready)
		second.Status.Conditions[0].Status = corev1.ConditionTrue
		api.Put(t, second)
	}()
	ob, err := Start(t.Context(), Options{Kube: c, Namespace: "run", Token: "secret", Poll: time.Hour,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, n.server.Listener.Addr().String())
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer ob.Close()
	select {
	case <-ready:
	default:
		t.Error("it did not wait")
	}
	if nodes := ob.Nodes(); len(nodes) != 2 {
		t.Errorf("readings came from %q", nodes)
	}
}

// TestANodeThatFallsSilent is told of, and its time without samples.
func TestANodeThatFallsSilent(t *testing.T) {
	n := startNode(t)
	now := time.Now()
	n.put(now, wholeNode, time.Second, 1000, -1, -1)
	ob := observe(t, n, podOf("run", SamplerName, SamplerName, nil))
	n.server.Close()
	if err := ob.Edge(t.Context()); err == nil || !strings.Contains(err.Error(), "sampler on node n1 (10.0.0.9:8090)") {
		t.Errorf("error %v", err)
	}
	w := ob.Window(now, now.Add(time.Minute), roles)
	if w.Gap < 59*time.Second || w.Faults["n1"] == "" {
		t.Errorf("gap %v, faults %v", w.Gap, w.Faults)
	}
}
