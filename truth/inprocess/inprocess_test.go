package inprocess

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/fault"
)

// begin runs truth on a cluster of the test's own.
func begin(t *testing.T, o Options) (*kube.Client, *Truth) {
	t.Helper()
	c, _ := kubetest.Start(t)
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	truth, err := Start(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := truth.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubetest.Namespace(t, c, "a")
	return c, truth
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func apply(t *testing.T, c *kube.Client, text string, data any) {
	t.Helper()
	objects, err := kube.Render("test", text, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Apply(t.Context(), c, objects...); err != nil {
		t.Fatal(err)
	}
}

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo, namespace: a}
spec:
  replicas: 2
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      containers:
      - name: echo
        image: any
        args: [echo, --listen, ":8080"]
        ports: [{name: http, containerPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: a}
spec: {selector: {app: echo}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: a}
spec: {gatewayClassName: truth, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
`

const routeManifest = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: a}
spec:
  parentRefs: [{name: g}]
  hostnames: [r.test]
  rules:
  - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Gatemark-Route, value: r}, {name: Gatemark-Generation, value: "{{.}}"}]}}]
    backendRefs: [{name: echo, port: 80}]
`

// ask asks a replica and returns what it says.
func ask(t *testing.T, r kube.Replica) (status int, m marker.Marker) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+r.Address().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "r.test"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	var f marker.Fields
	for name, values := range response.Header {
		f.Set([]byte(name), []byte(values[0]))
	}
	return response.StatusCode, f.Marker()
}

// routeCurrent waits until a route is accepted in its generation.
func routeCurrent(t *testing.T, c *kube.Client, name string) *gatewayv1.HTTPRoute {
	t.Helper()
	key := client.ObjectKey{Namespace: "a", Name: name}
	route, err := kube.Wait(limited(t), c, "route "+name, key, func(r *gatewayv1.HTTPRoute) (bool, string) {
		if len(r.Status.Parents) != 1 {
			return false, fmt.Sprintf("%d parents", len(r.Status.Parents))
		}
		return kube.Current(r.Status.Parents[0].Conditions, r.Generation, "Accepted", "ResolvedRefs")
	})
	if err != nil {
		t.Fatal(err)
	}
	return route
}

func TestServesWhatItSays(t *testing.T) {
	faults := new(fault.Switch)
	c, truth := begin(t, Options{Replicas: 3, Faults: faults})
	apply(t, c, manifest, nil)
	gateway, err := kube.WaitGateway(limited(t), c, client.ObjectKey{Namespace: "a", Name: "g"})
	if err != nil {
		t.Fatal(err)
	}
	replicas, err := kube.Replicas(t.Context(), c, "a", gatewayv1.GatewayNameLabelKey+"=g", 80)
	if err != nil || len(replicas) != 3 || len(gateway.Status.Addresses) != 3 {
		t.Fatalf("%d replicas, %v, addresses %+v", len(replicas), err, gateway.Status.Addresses)
	}
	if status, _ := ask(t, replicas[0]); status != 404 {
		t.Errorf("without a route: status %d", status)
	}
	for generation := int64(1); generation <= 2; generation++ {
		apply(t, c, routeManifest, generation)
		written := time.Now()
		route := routeCurrent(t, c, "r")
		deployed(t, c, truth)
		pods := map[string]bool{}
		for _, r := range replicas {
			for range 4 {
				status, m := ask(t, r)
				pods[m.Pod] = true
				if m.Pod, m.Instance = "", ""; status != 200 || m != marker.Expect("r", generation) {
					t.Errorf("%s: status %d, %v", r.Address(), status, m)
				}
			}
		}
		if len(pods) != 2 {
			t.Errorf("answers came from %v, want two pods", pods)
		}
		for _, r := range truth.Replicas("a/g") {
			force := r.Force().Routes["a/r"]
			if force.Generation != route.Generation || force.Since.After(written.Add(time.Minute)) {
				t.Errorf("in force is %+v of generation %d", force, route.Generation)
			}
		}
	}
	writesNothing(t, c)
	if err := c.Delete(t.Context(), &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "a"}}); err != nil {
		t.Fatal(err)
	}
	attached(t, c, 0)
	if status, _ := ask(t, replicas[0]); status != 404 {
		t.Errorf("after the route: status %d", status)
	}
	takesWrongStatuses(t, c, truth, faults)
}

// attached waits until the Gateway's status counts so many routes.
func attached(t *testing.T, c *kube.Client, want int32) {
	t.Helper()
	_, err := kube.Wait(limited(t), c, "gateway g", client.ObjectKey{Namespace: "a", Name: "g"}, func(g *gatewayv1.Gateway) (bool, string) {
		n := g.Status.Listeners[0].AttachedRoutes
		return n == want, fmt.Sprintf("%d routes", n)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// deployed waits until both backends take part, on every replica: the
// endpoints are configuration too.
func deployed(t *testing.T, c *kube.Client, truth *Truth) {
	t.Helper()
	_, err := kube.Wait(limited(t), c, "deployment echo", client.ObjectKey{Namespace: "a", Name: "echo"}, func(d *appsv1.Deployment) (bool, string) {
		return d.Status.AvailableReplicas == 2, fmt.Sprintf("%d available", d.Status.AvailableReplicas)
	})
	if err != nil {
		t.Fatal(err)
	}
	for ctx := limited(t); ; time.Sleep(10 * time.Millisecond) {
		s := truth.placement.feed.Latest("a/g")
		if len(s.Backends["a/echo:80"].Endpoints) != 2 {
			if ctx.Err() != nil {
				t.Fatalf("backends are %v", s.Backends)
			}
			continue
		}
		for _, r := range truth.Replicas("a/g") {
			if err := r.Wait(ctx, s.Version); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
}

// writesNothing: without a change in the cluster truth writes no status.
func writesNothing(t *testing.T, c *kube.Client) {
	t.Helper()
	versions := func() string {
		var routes gatewayv1.HTTPRouteList
		var gateways gatewayv1.GatewayList
		for _, list := range []client.ObjectList{&routes, &gateways} {
			if err := c.List(t.Context(), list, client.InNamespace("a")); err != nil {
				t.Fatal(err)
			}
		}
		text := ""
		for _, r := range routes.Items {
			text += r.Name + r.ResourceVersion + " "
		}
		for _, g := range gateways.Items {
			text += g.Name + g.ResourceVersion + " "
		}
		return text
	}
	attached(t, c, 1) // the last that there is to write
	before := versions()
	time.Sleep(500 * time.Millisecond)
	if after := versions(); after != before {
		t.Errorf("at rest, versions went from %s to %s", before, after)
	}
}

// propagate measures with the scenario, as a run does.
func propagate(t *testing.T, c *kube.Client, routes int) *result.Trial {
	t.Helper()
	return measure(t, c, "route-propagation", "a", map[string]any{"routes": routes, "step": "2ms", "freshStep": "10ms"}, nil)
}

// measure runs a scenario in a namespace. adapt may change the trial.
func measure(t *testing.T, c *kube.Client, name, namespace string, set map[string]any, adapt func(*scenario.Trial)) *result.Trial {
	t.Helper()
	s := question.Find(name)
	values := scenario.Values{}
	for _, p := range s.Parameters {
		values[p.Name] = p.Default
		if d, ok := p.Default.(time.Duration); ok {
			values[p.Name] = d.String()
		}
	}
	maps.Copy(values, set)
	trial := &scenario.Trial{
		Kube: c, RunID: "test", Namespace: namespace, Values: values, EchoImage: "gatemark.local/gatemark:test",
		Target: scenario.Target{
			Treatment: "truth", GatewayClass: Class, ControllerName: string(controlplane.Name),
			DataPlane: scenario.Selector{Namespace: "{{.Namespace}}", Labels: gatewayv1.GatewayNameLabelKey + "={{.Name}}"},
		},
		Progress: func(format string, args ...any) { t.Logf(format, args...) },
		Result:   &result.Trial{SchemaVersion: result.SchemaVersion, ID: "t", Scenario: s.Name}, Attachments: map[string][]byte{},
	}
	if adapt != nil {
		adapt(trial)
	}
	trial.Begin()
	if err := s.Run(limited(t), trial); err != nil {
		t.Fatal(err)
	}
	return trial.Result
}

func TestRoutePropagation(t *testing.T) {
	const late = 2 * time.Second
	faults := new(fault.Switch)
	c, _ := begin(t, Options{Replicas: 3, Faults: faults})
	faults.Set(fault.Faults{Late: map[int]time.Duration{1: late}})
	got := propagate(t, c, 3)
	stable, first := got.Metrics["stable"], got.Metrics["first-served"]
	// The first route of a Gateway is not among them.
	if stable.N != 2 || *stable.Min < late.Seconds() {
		t.Errorf("one replica is %s late, stable is %+v", late, stable)
	}
	if first.N != 2 || *first.Min >= late.Seconds() {
		t.Errorf("the others are not late, first served is %+v", first)
	}
	for _, f := range got.Findings {
		if f.Severity == result.Broken {
			t.Errorf("finding %s: %s", f.ID, f.Text)
		}
	}
}
