package traffic

import (
	"context"
	_ "embed"
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

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed traffic.yaml
var trafficManifest string

// host is the route's.
const host = "traffic.gatemark.test"

// servedLimit bounds how long the route may take to be served.
const servedLimit = 30 * time.Second

// prepare finds out where requests go and how many there are to be, and makes
// the route.
func (t *traffic) prepare(ctx context.Context) (err error) {
	if t.cpus, err = t.countCPUs(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	t.scale = 1
	if machine := t.Values.Int("ratesFor"); machine > 0 {
		t.scale = float64(t.cpus) / float64(machine)
	}
	t.points = pointsOf(t.Values, t.scale)
	if t.gateway, err = t.through(ctx); err != nil {
		return err
	}
	backends, err := kube.Replicas(ctx, t.Kube, t.Namespace, "app=echo", 80)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	nodes := map[string]bool{}
	for _, b := range backends {
		t.backends = append(t.backends, b.Address().String())
		nodes[b.Node] = true
	}
	t.backendNodes = len(nodes)
	if len(t.backends) != t.Values.Int("backends") {
		return scenario.Invalid{Reason: fmt.Errorf("service %s/echo has %d endpoints of %d backends", t.Namespace, len(t.backends), t.Values.Int("backends"))}
	}
	if err := t.Apply(ctx, "traffic.yaml", trafficManifest, map[string]any{"Namespace": t.Namespace, "Host": host}); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return t.waitServed(ctx)
}

// countCPUs are those of the node that measures, or of this machine where there
// is no node.
func (t *traffic) countCPUs(ctx context.Context) (int, error) {
	if t.Node == "" {
		return runtime.NumCPU(), nil
	}
	var node corev1.Node
	if err := t.Kube.Get(ctx, client.ObjectKey{Name: t.Node}, &node); err != nil {
		return 0, fmt.Errorf("read node %s: %w", t.Node, err)
	}
	return int(node.Status.Capacity.Cpu().Value()), nil
}

// through is the address that stands for the gateway.
func (t *traffic) through(ctx context.Context) (string, error) {
	switch replica := t.stage.Replicas[0]; t.Values.String("through") {
	case "replica":
		return replica.Address().String(), nil
	case "clusterIP":
		namespace, name, _ := strings.Cut(replica.Service, "/")
		var service corev1.Service
		if err := t.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &service); err != nil {
			return "", scenario.Invalid{Reason: fmt.Errorf("read service %s: %w", replica.Service, err)}
		}
		if _, err := netip.ParseAddr(service.Spec.ClusterIP); err != nil {
			return "", scenario.Unsupported{Reason: fmt.Errorf("service %s of the Gateway has no address of its own in the cluster (%q)", replica.Service, service.Spec.ClusterIP)}
		}
		return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(scenario.ListenerPort)), nil
	}
	return t.GatewayAddress(ctx, scenario.ListenerPort)
}

// waitServed asks until the route is served there.
func (t *traffic) waitServed(ctx context.Context) error {
	t.Progress("waiting for the route")
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for right, last := 0, ""; right < 3; {
		status, err := t.ask(ctx, web)
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
			return scenario.Failed{Reason: fmt.Errorf("httproute %s/traffic is not served at %s after %s: %s", t.Namespace, t.gateway, servedLimit, last)}
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (t *traffic) ask(ctx context.Context, web *http.Client) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.gateway+"/", nil)
	if err != nil {
		return 0, err
	}
	request.Host = host
	t.checks++
	response, err := web.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
