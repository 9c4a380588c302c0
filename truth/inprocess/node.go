package inprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/loop"
)

// A node runs pods of gatemark's backend in this process, and those of truth's
// planes where it has workloads: what a kubelet, and for their Services the
// endpoint controller, kube-proxy and a load balancer, would do.
type node struct {
	kube      *kube.Client
	log       *slog.Logger
	workloads *workloads // nil for none
	pods      map[types.UID]*pod
	exposed   map[types.UID]exposed // by Service
	balancers map[types.UID]*balancer
	running   sync.WaitGroup
}

// exposed is what a Service's EndpointSlice was made to say.
type exposed struct {
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

// A pod is one that runs.
type pod struct {
	object  *corev1.Pod
	address netip.Addr
	// gone is called when its object is.
	gone func()
	// ended is called when it is told to end, of pods that end by themselves.
	ended func()
}

// exposed: requests are sent to it.
func (p *pod) exposed() bool {
	return p.address.IsValid() && p.object.DeletionTimestamp == nil && isReady(p.object)
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func newNode(c *kube.Client, w *workloads, log *slog.Logger) *node {
	return &node{kube: c, log: log, workloads: w, pods: map[types.UID]*pod{}, exposed: map[types.UID]exposed{}, balancers: map[types.UID]*balancer{}}
}

func (n *node) run(ctx context.Context) error {
	defer n.running.Wait()
	defer n.closeBalancers()
	l := loop.Loop{Watched: []client.Object{&corev1.Pod{}, &corev1.Service{}}, Log: n.log}
	if err := l.Run(ctx, n.kube, n.step); err != nil {
		return fmt.Errorf("truth's node: %w", err)
	}
	return nil
}

func (n *node) step(ctx context.Context, objects client.Reader) error {
	var pods corev1.PodList
	var services corev1.ServiceList
	if err := errors.Join(objects.List(ctx, &pods), objects.List(ctx, &services)); err != nil {
		return err
	}
	var problems []error
	alive := map[types.UID]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		switch {
		case isEcho(p) && p.DeletionTimestamp == nil:
		case isTruth(p) && n.workloads != nil:
		default:
			continue
		}
		alive[p.UID] = true
		problems = append(problems, n.look(ctx, p))
	}
	for uid, p := range n.pods {
		if !alive[uid] {
			p.gone()
			delete(n.pods, uid)
		}
	}
	for i := range services.Items {
		problems = append(problems, n.expose(ctx, &services.Items[i]))
	}
	n.keepBalancers(services.Items)
	return errors.Join(problems...)
}

// look brings a pod in line with its object.
func (n *node) look(ctx context.Context, object *corev1.Pod) error {
	p := n.pods[object.UID]
	switch {
	case p == nil && isEcho(object):
		return n.start(ctx, object)
	case p == nil:
		started, err := n.workloads.start(ctx, object)
		if started != nil {
			n.pods[object.UID] = started
		}
		return err
	}
	if p.object = object; object.DeletionTimestamp != nil && p.ended != nil {
		p.ended()
		p.ended = nil
	}
	return nil
}

func isEcho(p *corev1.Pod) bool {
	return len(p.Spec.Containers) == 1 && slices.Index(p.Spec.Containers[0].Args, "echo") == 0
}

// argument is the value of a container's flag.
func argument(p *corev1.Pod, flag string) string {
	args := p.Spec.Containers[0].Args
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			return args[i+1]
		}
		if value, ok := strings.CutPrefix(a, flag+"="); ok {
			return value
		}
	}
	return ""
}

// start runs a pod's server, and says that the pod is ready.
func (n *node) start(ctx context.Context, object *corev1.Pod) error {
	a, reserved, err := address()
	if err != nil {
		return err
	}
	on := func(flag string) string {
		if port := argument(object, flag); port != "" {
			return a.String() + port // as in ":8080"
		}
		return ""
	}
	server, err := echo.Listen(echo.Options{Listen: on("--listen"), Admin: on("--admin"), TLS: echo.TLS{Listen: on("--tls")}, Pod: object.Name})
	if err != nil {
		reserved.Close()
		return fmt.Errorf("run pod %s: %w", client.ObjectKeyFromObject(object), err)
	}
	running, cancel := context.WithCancel(ctx)
	n.running.Go(func() {
		defer reserved.Close()
		if err := server.Serve(running); err != nil {
			n.log.Error("run a pod", "pod", object.Name, "error", err)
		}
	})
	drain, err := time.ParseDuration(cmp.Or(argument(object, "--drain"), "0s"))
	if err != nil {
		cancel()
		return fmt.Errorf("run pod %s: drain: %w", client.ObjectKeyFromObject(object), err)
	}
	n.pods[object.UID] = &pod{object: object, address: a, gone: func() { time.AfterFunc(drain, cancel) }}
	return sayReady(ctx, n.kube, object)
}

// sayReady writes that a pod runs and is ready.
func sayReady(ctx context.Context, c *kube.Client, object *corev1.Pod) error {
	ready := object.DeepCopy()
	ready.Status.Phase = corev1.PodRunning
	// Without an address the endpoint controller leaves the pod to us.
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		ready.Status.Conditions = append(ready.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	if err := c.Status().Patch(ctx, ready, client.StrategicMergeFrom(object)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("say that pod %s is ready: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// expose writes the endpoints of a Service that selects pods that run here.
func (n *node) expose(ctx context.Context, s *corev1.Service) error {
	if len(s.Spec.Selector) == 0 || s.DeletionTimestamp != nil {
		return nil
	}
	selector := labels.SelectorFromSet(s.Spec.Selector)
	var selected []*pod
	for _, p := range n.pods {
		if p.exposed() && p.object.Namespace == s.Namespace && selector.Matches(labels.Set(p.object.Labels)) {
			selected = append(selected, p)
		}
	}
	slices.SortFunc(selected, func(a, b *pod) int { return a.address.Compare(b.address) })
	var endpoints []discoveryv1.Endpoint
	for _, p := range selected {
		e := endpoint(p.address)
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: p.object.Namespace, Name: p.object.Name, UID: p.object.UID}
		endpoints = append(endpoints, e)
	}
	var ports []discoveryv1.EndpointPort
	for _, port := range s.Spec.Ports {
		if at := target(port, selected); at != 0 {
			ports = append(ports, discoveryv1.EndpointPort{Name: ptr.To(port.Name), Port: ptr.To(at)})
		}
	}
	if err := n.balance(ctx, s, ports, selected); err != nil {
		return err
	}
	wanted := exposed{ports, endpoints}
	if reflect.DeepEqual(n.exposed[s.UID], wanted) {
		return nil
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID}
	if err := putSlice(ctx, n.kube, s.Namespace, s.Name, owner, ports, endpoints); err != nil {
		return fmt.Errorf("endpoints of service %s: %w", client.ObjectKeyFromObject(s), err)
	}
	n.exposed[s.UID] = wanted
	return nil
}

// target is where pods listen for a Service's port, or 0.
func target(port corev1.ServicePort, pods []*pod) int32 {
	if n := port.TargetPort.IntValue(); n != 0 {
		return int32(n)
	}
	for _, p := range pods {
		for _, c := range p.object.Spec.Containers[0].Ports {
			if c.Name == port.TargetPort.StrVal {
				return c.ContainerPort
			}
		}
	}
	if len(pods) > 0 && port.TargetPort.StrVal == "" {
		return port.Port
	}
	return 0
}
