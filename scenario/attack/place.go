package attack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// ThroughParameter says what address stands for the gateway.
var ThroughParameter = scenario.Parameter{Name: "through", Default: "address", OneOf: []string{"address", "clusterIP", "replica"},
	Help: "where to: the Gateway's address, its Service's own address, or one replica"}

// RatesForParameter says what machine rates are for.
var RatesForParameter = scenario.Parameter{Name: "ratesFor", Default: 0, Min: 0, Max: 4096,
	Help: "CPUs of the machine that the rates are for: on another they are scaled; 0 takes them as they are"}

// A Place is where a trial's attacks are made.
type Place struct {
	*scenario.Trial
	// CPUs are those of the node that measures.
	CPUs int
	// Gateway is the address that stands for the gateway, Backends are those of
	// the backend's pods, which are on so many nodes.
	Gateway      string
	Backends     []string
	BackendNodes int
	// Wire is what is spoken; name is that of its objects, and host what is asked
	// for.
	Wire       Wire
	name, host string
	// Checks counts the requests that were sent to see whether routes are
	// served.
	Checks int
	// Attackers are there when they were started.
	Attackers scenario.Attackers
}

// New is a place that has no gateway and no backends yet.
func New(ctx context.Context, t *scenario.Trial) (*Place, error) {
	cpus, err := countCPUs(ctx, t)
	if err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	return &Place{Trial: t, CPUs: cpus, BackendNodes: 1, Wire: WireOf(t.Values)}, nil
}

// find finds out where requests to the Gateway and to the backend go.
func (p *Place) find(ctx context.Context, replicas []kube.Replica) (err error) {
	if p.Gateway, err = p.Through(ctx, replicas[0], p.Wire.listener(p.name).Port()); err != nil {
		return err
	}
	found, err := kube.Replicas(ctx, p.Kube, p.Namespace, "app=echo", p.Wire.backendPort())
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	nodes := map[string]bool{}
	p.Backends = nil
	for _, b := range found {
		p.Backends = append(p.Backends, b.Address().String())
		nodes[b.Node] = true
	}
	p.BackendNodes = len(nodes)
	if backends := p.Values.Int("backends"); len(p.Backends) != backends {
		return scenario.Invalid{Reason: fmt.Errorf("service %s/echo has %d endpoints of %d backends", p.Namespace, len(p.Backends), backends)}
	}
	return nil
}

// FindAgain finds out where the Gateway is now: what served it may be gone.
func (p *Place) FindAgain(ctx context.Context) error {
	replicas, err := p.Replicas(ctx, p.Wire.listener(p.name).Port())
	if err != nil {
		return err
	}
	return p.find(ctx, replicas)
}

// Scale is what rates are to be multiplied with: see RatesForParameter.
func (p *Place) Scale() float64 {
	if machine := p.Values.Int(RatesForParameter.Name); machine > 0 {
		return float64(p.CPUs) / float64(machine)
	}
	return 1
}

// Writes lists what a trial writes that attacks one route of its own.
func Writes(v scenario.Values) []scenario.Write {
	return []scenario.Write{
		{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "apply", Kind: "Deployment, Service, Gateway, HTTPRoute", Count: 4},
		{Verb: "create", Kind: "Pod that attacks", Count: v.Int("attackers")}, {Verb: "delete", Kind: "Pod that attacks", Count: v.Int("attackers")},
		{Verb: "delete", Kind: "Namespace", Count: 1},
	}
}

// countCPUs are those of the node that measures, or of this machine where there
// is no node.
func countCPUs(ctx context.Context, t *scenario.Trial) (int, error) {
	if t.Node == "" {
		return runtime.NumCPU(), nil
	}
	var node corev1.Node
	if err := t.Kube.Get(ctx, client.ObjectKey{Name: t.Node}, &node); err != nil {
		return 0, fmt.Errorf("read node %s: %w", t.Node, err)
	}
	return int(node.Status.Capacity.Cpu().Value()), nil
}

// Through is the address that stands for the gateway, with the port of a
// listener, which that replica serves.
func (p *Place) Through(ctx context.Context, replica kube.Replica, port int32) (string, error) {
	switch p.Values.String(ThroughParameter.Name) {
	case "replica":
		return replica.Address().String(), nil
	case "clusterIP":
		namespace, name, _ := strings.Cut(replica.Service, "/")
		var service corev1.Service
		if err := p.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &service); err != nil {
			return "", scenario.Invalid{Reason: fmt.Errorf("read service %s: %w", replica.Service, err)}
		}
		if _, err := netip.ParseAddr(service.Spec.ClusterIP); err != nil {
			return "", scenario.Unsupported{Reason: fmt.Errorf("service %s of the Gateway has no address of its own in the cluster (%q)", replica.Service, service.Spec.ClusterIP)}
		}
		return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port))), nil
	}
	return p.GatewayAddress(ctx, port)
}
