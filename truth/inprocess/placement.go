package inprocess

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/feed"
)

// A placement keeps replicas in this process.
type placement struct {
	ctx     context.Context
	kube    *kube.Client
	feed    *feed.Feed
	options Options

	mu       sync.Mutex
	gateways map[string]*gateway
	errs     []error
	running  sync.WaitGroup
}

var _ controlplane.Placement = (*placement)(nil)

// A gateway is one that has replicas.
type gateway struct {
	replicas  []*dataplane.Replica
	addresses []netip.Addr
	ports     []int32 // those of its Service; nil before there is one
	cancel    context.CancelFunc
}

func newPlacement(ctx context.Context, c *kube.Client, f *feed.Feed, o Options) *placement {
	return &placement{ctx: ctx, kube: c, feed: f, options: o, gateways: map[string]*gateway{}}
}

// Place starts the replicas of a new Gateway and waits until they serve.
func (p *placement) Place(ctx context.Context, _ client.Reader, object *gatewayv1.Gateway, ports []int32, snapshot *config.Snapshot) (controlplane.Placed, error) {
	g, err := p.start(ctx, snapshot)
	if err != nil {
		return controlplane.Placed{}, err
	}
	if len(ports) > 0 && !slices.Equal(ports, g.ports) {
		if err := p.expose(ctx, object, g, ports); err != nil {
			return controlplane.Placed{}, err
		}
		g.ports = ports
	}
	placed := controlplane.Placed{Ready: true}
	for _, a := range g.addresses {
		placed.Addresses = append(placed.Addresses, a.String())
	}
	return placed, nil
}

func (p *placement) start(ctx context.Context, snapshot *config.Snapshot) (*gateway, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.gateways[snapshot.Gateway]; g != nil {
		return g, nil
	}
	running, cancel := context.WithCancel(p.ctx)
	defer context.AfterFunc(ctx, cancel)()
	g := &gateway{cancel: cancel}
	for n := range p.options.Replicas {
		if err := p.replica(running, g, n, snapshot.Gateway); err != nil {
			cancel()
			return nil, err
		}
	}
	for n, r := range g.replicas {
		if p.options.Faults.Now().ProgrammedEarly {
			break
		}
		if err := r.Wait(running, snapshot.Version); err != nil {
			cancel()
			return nil, fmt.Errorf("replica %d does not serve: %w", n, err)
		}
	}
	p.gateways[snapshot.Gateway] = g
	return g, nil
}

// replica starts one.
func (p *placement) replica(ctx context.Context, g *gateway, number int, name string) error {
	r, err := startReplica(ctx, p.feed.For(name), dataplane.Options{Number: number, Faults: p.options.Faults})
	if err != nil {
		return err
	}
	p.running.Go(func() {
		if <-r.ended; r.err != nil {
			g.cancel() // whoever waits for it
			p.fail(fmt.Errorf("gateway %s: %w", name, r.err))
		}
	})
	g.replicas, g.addresses = append(g.replicas, r.Replica), append(g.addresses, r.Address())
	return nil
}

func (p *placement) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}

// expose gives a Gateway its Service, with the replicas as endpoints.
func (p *placement) expose(ctx context.Context, object *gatewayv1.Gateway, g *gateway, ports []int32) error {
	name, labels := controlplane.DataPlane(object)
	owner := metav1.OwnerReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: object.Name, UID: object.UID}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: object.Namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{owner},
	}}
	var serving []discoveryv1.EndpointPort
	for _, port := range ports {
		at := config.ServingPort(port)
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: controlplane.PortName(port), Port: port, TargetPort: intstr.FromInt32(at)})
		serving = append(serving, discoveryv1.EndpointPort{Name: ptr.To(controlplane.PortName(port)), Port: ptr.To(at)})
	}
	var endpoints []discoveryv1.Endpoint
	for _, a := range g.addresses {
		endpoints = append(endpoints, endpoint(a))
	}
	if err := put(ctx, p.kube, service, func(has *corev1.Service) bool {
		changed := len(has.Spec.Ports) != len(service.Spec.Ports)
		for i := range has.Spec.Ports {
			changed = changed || has.Spec.Ports[i].Port != service.Spec.Ports[i].Port
		}
		has.Spec.Ports = service.Spec.Ports
		return changed
	}); err != nil {
		return err
	}
	return putSlice(ctx, p.kube, service.Namespace, service.Name, owner, serving, endpoints)
}

func endpoint(a netip.Addr) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{a.String()}, Conditions: discoveryv1.EndpointConditions{
		Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false),
	}}
}

// putSlice makes or changes the EndpointSlice of a Service.
func putSlice(ctx context.Context, c *kube.Client, namespace, service string, owner metav1.OwnerReference, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint) error {
	wanted := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service + "-truth", Namespace: namespace, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "truth.gatemark.dev"},
		},
		AddressType: discoveryv1.AddressTypeFQDN, Ports: ports, Endpoints: endpoints,
	}
	return put(ctx, c, wanted, func(has *discoveryv1.EndpointSlice) bool {
		for i := range has.Ports { // filled in by the API server
			has.Ports[i].Protocol = nil
		}
		if equality.Semantic.DeepEqual(has.Ports, ports) && equality.Semantic.DeepEqual(has.Endpoints, endpoints) {
			return false
		}
		has.Ports, has.Endpoints = ports, endpoints
		return true
	})
}

// put creates an object, or updates the one that is there where change changes
// it.
func put[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c *kube.Client, wanted P, change func(P) bool) error {
	has := P(new(T))
	err := c.Get(ctx, client.ObjectKeyFromObject(wanted), has)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return c.Create(ctx, wanted)
	case !change(has):
		return nil
	}
	return c.Update(ctx, has)
}

// Remove ends the replicas of a Gateway. Its Service goes with it.
func (p *placement) Remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.gateways[name]; g != nil {
		g.cancel()
		delete(p.gateways, name)
	}
}

func (p *placement) of(name string) []*dataplane.Replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.gateways[name]; g != nil {
		return g.replicas
	}
	return nil
}

// stop waits for the end of all replicas, whose context has ended.
func (p *placement) stop() error {
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}
