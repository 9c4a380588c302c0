package backendfailover

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

//go:embed backendfailover.yaml
var manifest string

// The objects' names, and what is asked for.
const (
	poolName    = "pool"
	serviceName = "failover"
	host        = "failover.gatemark.test"
	adminPort   = "8081"
)

// A pool is the backends.
type pool struct {
	// slice is that of the Service that the scenario writes, all are its endpoints
	// while all backends are well.
	slice *discoveryv1.EndpointSlice
	all   []discoveryv1.Endpoint
	// victim is the pod that fails, admins where each pod tells what it counts.
	victim string
	admins map[string]string
	web    *http.Client
}

func (f *failover) object(template string, data any) ([]*unstructured.Unstructured, error) {
	return f.Render("backendfailover.yaml", manifest+"{{template \""+template+"\" .}}\n", data)
}

// prepare makes everything.
func (f *failover) prepare(ctx context.Context) error {
	stage, err := f.SetStage(ctx, scenario.Backends{Pods: 1}, scenario.Listener{Name: "http"})
	if err != nil {
		return err
	}
	f.proxies = len(stage.Replicas)
	if err := f.findPlaces(ctx); err != nil {
		return err
	}
	pods := f.Values.Int("healthy") + 1
	objects, err := f.object("backend", map[string]any{"Namespace": f.Namespace, "EchoImage": f.EchoImage, "Replicas": pods})
	if err == nil {
		err = kube.Apply(ctx, f.Kube, objects...)
	}
	if err == nil {
		err = f.findPool(ctx, pods)
	}
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	return f.makeRoutes(ctx)
}

func (f *failover) findPlaces(ctx context.Context) error {
	if f.Values.String("through") == "address" {
		address, err := f.GatewayAddress(ctx, scenario.ListenerPort)
		f.places = []stream.Endpoint{{Name: "the Gateway's address", Address: address}}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	replicas, err := f.Replicas(ctx, scenario.ListenerPort)
	if err != nil {
		return err
	}
	for _, t := range (&scenario.Stage{Replicas: replicas}).Targets() {
		f.places = append(f.places, stream.Endpoint{Name: t.Name, Address: t.Address.String()})
	}
	return nil
}

// findPool waits for the backends, and makes the Service's endpoints of theirs.
func (f *failover) findPool(ctx context.Context, pods int) error {
	f.Progress("waiting for the backends")
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	key := client.ObjectKey{Namespace: f.Namespace, Name: poolName}
	if _, err := kube.Wait(ctx, f.Kube, "deployment "+key.String(), key, scenario.Available); err != nil {
		return err
	}
	p := &pool{admins: map[string]string{}, web: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
	opts := []client.ListOption{client.InNamespace(f.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: poolName}}
	err := kube.WaitAll(ctx, f.Kube, "endpoints of service "+poolName, opts, func(slices []*discoveryv1.EndpointSlice) (bool, string) {
		p.all = nil
		for _, s := range slices {
			for _, e := range s.Endpoints {
				if e.TargetRef != nil && ptr.Deref(e.Conditions.Ready, true) {
					p.slice, p.all = s, append(p.all, e) // there may be others, without endpoints
				}
			}
		}
		return len(p.all) == pods, fmt.Sprintf("%d of %d", len(p.all), pods)
	})
	if err != nil {
		return err
	}
	for _, e := range p.all {
		p.admins[e.TargetRef.Name] = net.JoinHostPort(e.Addresses[0], adminPort)
	}
	p.victim = p.all[0].TargetRef.Name
	p.slice = &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: serviceName + "-gatemark", Namespace: f.Namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: serviceName, discoveryv1.LabelManagedBy: "gatemark.dev"},
		},
		AddressType: p.slice.AddressType, Ports: p.slice.Ports, Endpoints: p.all,
	}
	kube.Own(p.slice, f.RunID, f.Result.ID)
	f.pool = p
	return kube.Create(ctx, f.Kube, p.slice.DeepCopy())
}

// route is what the template wants for one route.
func (f *failover) route(n int) map[string]any {
	var rules []map[string]any
	for p := range f.Values.Int("paths") {
		name := fmt.Sprintf("failover-%d-%d", n, p)
		rules = append(rules, map[string]any{"Path": fmt.Sprintf("/r%d/p%d", n, p), "Marker": marker.Expect(name, 1).Filter()})
	}
	attempts := 0
	if f.Values.String("policy") == retries {
		attempts = retryAttempts
	}
	return map[string]any{
		"Name": routeName(n), "Namespace": f.Namespace, "Gateway": scenario.GatewayName, "Host": host, "Rules": rules, "Retries": attempts,
	}
}

// makeRoutes makes all routes. Where the routes are to have what the
// implementation or the definitions lack, the trial is unsupported.
func (f *failover) makeRoutes(ctx context.Context) error {
	if f.Values.String("policy") == retries {
		if err := f.Supports(ctx, "HTTPRoute", string(features.SupportHTTPRouteRetry)); err != nil {
			return err
		}
	}
	for n := range f.Values.Int("routes") {
		objects, err := f.object("route", f.route(n))
		if err == nil {
			err = kube.Apply(ctx, f.Kube, objects...)
		}
		var status apierrors.APIStatus // how the API server refuses
		if errors.As(err, &status) && f.Values.String("policy") == retries && (apierrors.IsInvalid(err) || strings.Contains(err.Error(), "not declared in schema")) {
			return scenario.Unsupported{Reason: fmt.Errorf("the definitions of the Gateway API in this cluster have no retries: %w", err)}
		}
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
	}
	return f.makePolicy(ctx)
}

// makePolicy tells the implementation a policy of its own, where that is asked
// for.
func (f *failover) makePolicy(ctx context.Context) error {
	policy := f.Values.String("policy")
	if policy == none || policy == retries {
		return nil
	}
	of := dialect.Policed{Name: serviceName, Service: serviceName}
	for n := range f.Values.Int("routes") {
		of.Routes = append(of.Routes, routeName(n))
	}
	return f.PutPolicy(ctx, policy, of)
}

func routeName(n int) string { return fmt.Sprintf("failover-%d", n) }

// path asks for all paths in turn.
func (f *failover) path() string {
	each := func(letter string, n int) string {
		if n == 1 {
			return "/" + letter + "0"
		}
		return "/" + letter + "{0.." + strconv.Itoa(n-1) + "}"
	}
	return each("r", f.Values.Int("routes")) + each("p", f.Values.Int("paths"))
}

// counters are what a backend has counted.
type counters struct {
	Requests int64            `json:"requests"`
	Applied  map[string]int64 `json:"applied"`
	Routes   []routeCount     `json:"routes"`
	Health   struct {
		Requests int64 `json:"requests"`
	} `json:"health"`
}

type routeCount struct {
	Route    string `json:"route"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

// unrouted are the counts of requests that no route sent on.
func (c *counters) unrouted() []routeCount {
	return slices.DeleteFunc(c.Routes, func(r routeCount) bool { return r.Route != "" })
}

// unasked are requests that no route sent on: of gateways that ask by themselves
// how a backend is.
func (c *counters) unasked() int64 {
	n := c.Health.Requests
	for _, r := range c.Routes {
		if r.Route == "" {
			n += r.Requests
		}
	}
	return n
}

// count asks one backend.
func (p *pool) count(ctx context.Context, pod string) (c counters, err error) {
	body, err := p.admin(ctx, pod, http.MethodGet, "/counters", "")
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		return c, fmt.Errorf("ask backend %s for its counters: %w", pod, err)
	}
	return c, nil
}

// countAll asks all backends.
func (p *pool) countAll(ctx context.Context) (map[string]counters, error) {
	all := map[string]counters{}
	for pod := range p.admins {
		one, err := p.count(ctx, pod)
		if err != nil {
			return nil, err
		}
		all[pod] = one
	}
	return all, nil
}

func (p *pool) admin(ctx context.Context, pod, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.admins[pod]+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	response, err := p.web.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, bytes.TrimSpace(text))
	}
	return text, err
}

// fail makes the victim fail, or be well again.
func (f *failover) fail(ctx context.Context, k *kind, fails bool) error {
	if k.leaves {
		endpoints := f.pool.all
		if fails {
			endpoints = k.endpoints(f.pool.all, f.pool.victim)
		}
		patch, err := json.Marshal(map[string]any{"endpoints": endpoints})
		if err != nil {
			return err
		}
		if err := f.Kube.Patch(ctx, f.pool.slice.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
			return fmt.Errorf("change the endpoints of service %s: %w", serviceName, err)
		}
		return nil
	}
	method, body := http.MethodDelete, ""
	if fails {
		method, body = http.MethodPut, `{"rules":[`+k.fault+`]}`
	}
	if _, err := f.pool.admin(ctx, f.pool.victim, method, "/faults", body); err != nil {
		return fmt.Errorf("change the faults of backend %s: %w", f.pool.victim, err)
	}
	return nil
}
