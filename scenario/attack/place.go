package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// ThroughParameter says what address stands for the gateway.
var ThroughParameter = scenario.Parameter{Name: "through", Default: "address", OneOf: []string{"address", "clusterIP", "replica"},
	Help: "where to: the Gateway's address, its Service's own address, or one replica"}

// RatesForParameter says what machine rates are for.
var RatesForParameter = scenario.Parameter{Name: "ratesFor", Default: 0, Min: 0, Max: 4096,
	Help: "CPUs of the machine that the rates are for: on another they are scaled; 0 takes them as they are"}

// servedLimit bounds how long a route may take to be served.
const servedLimit = 30 * time.Second

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
	return &Place{Trial: t, CPUs: cpus, BackendNodes: 1}, nil
}

// Find finds out where requests to a listener of the stage go, which has so
// many backends.
func Find(ctx context.Context, t *scenario.Trial, stage *scenario.Stage, backends int) (*Place, error) {
	p, err := New(ctx, t)
	if err != nil {
		return nil, err
	}
	if p.Gateway, err = p.Through(ctx, stage, scenario.ListenerPort); err != nil {
		return nil, err
	}
	found, err := kube.Replicas(ctx, t.Kube, t.Namespace, "app=echo", 80)
	if err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	nodes := map[string]bool{}
	for _, b := range found {
		p.Backends = append(p.Backends, b.Address().String())
		nodes[b.Node] = true
	}
	p.BackendNodes = len(nodes)
	if len(p.Backends) != backends {
		return nil, scenario.Invalid{Reason: fmt.Errorf("service %s/echo has %d endpoints of %d backends", t.Namespace, len(p.Backends), backends)}
	}
	return p, nil
}

// Scale is what rates are to be multiplied with: see RatesForParameter.
func (p *Place) Scale() float64 {
	if machine := p.Values.Int(RatesForParameter.Name); machine > 0 {
		return float64(p.CPUs) / float64(machine)
	}
	return 1
}

// Route sends all requests to a host to the backend, without any filter, so that
// what is measured is the proxy alone.
func Route(name, host string) dialect.Route {
	return dialect.Route{Name: name, Listener: "http", Host: host, Service: "echo", Port: 80}
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
// listener.
func (p *Place) Through(ctx context.Context, stage *scenario.Stage, port int32) (string, error) {
	switch replica := stage.Replicas[0]; p.Values.String(ThroughParameter.Name) {
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

// WaitServed asks for a host until its route, of that name, is served.
func (p *Place) WaitServed(ctx context.Context, route, host string) error {
	p.Progress("waiting for the route")
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for right, last := 0, ""; right < 3; {
		status, err := p.ask(ctx, web, host)
		switch {
		case err != nil:
			right, last = 0, err.Error()
		case status != http.StatusOK:
			right, last = 0, fmt.Sprintf("status %d", status)
		default:
			right++
		}
		select {
		case <-ctx.Done():
			return scenario.Failed{Reason: fmt.Errorf("httproute %s/%s is not served at %s after %s: %s", p.Namespace, route, p.Gateway, servedLimit, last)}
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (p *Place) ask(ctx context.Context, web *http.Client, host string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Gateway+"/", nil)
	if err != nil {
		return 0, err
	}
	request.Host = host
	p.Checks++
	response, err := web.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
