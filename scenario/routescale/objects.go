package routescale

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed routescale.yaml
var manifest string

// backends is how many pods there are: endpoints are replaced by others of them.
const backends = 2

// A route is one, with its Service and its EndpointSlice, which have its name.
type route struct {
	number          int
	namespace, name string
	domain          string
	set             *set // nil where it attaches to the Gateway itself

	mu sync.Mutex // of a change
	// generation counts its edits, and pod is the number of its endpoint.
	generation int64
	pod        int
	gone       bool
	// unserved: it was waited for in vain, and is not waited for again.
	unserved bool
}

func (r *route) host() string { return r.name + "." + r.domain }

func (s *scaling) newRoute(number int) *route {
	r := &route{number: number, name: fmt.Sprintf("route-%05d", number), domain: "gatemark.test", generation: 1, pod: number % backends}
	r.namespace = s.namespaces[number%len(s.namespaces)]
	if s.perSet > 0 {
		r.set = s.sets[number/s.perSet]
		r.namespace, r.domain = r.set.namespace, r.set.domain
	}
	return r
}

// model is what all routes' objects are copies of. Rendering each would cost
// more than writing it.
type model struct {
	service   corev1.Service
	slice     discoveryv1.EndpointSlice
	route     gatewayv1.HTTPRoute
	endpoints []discoveryv1.Endpoint
	pods      []string
	// Of ListenerSets, where there are any.
	secret    corev1.Secret
	listeners gatewayv1.ListenerSet
}

// newModel waits for the backends' endpoints, and renders the manifest.
func (s *scaling) newModel(ctx context.Context) (*model, error) {
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	var slice *discoveryv1.EndpointSlice
	opts := []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: "echo"}}
	err := kube.WaitAll(ctx, s.Kube, "endpoints of service echo", opts, func(all []*discoveryv1.EndpointSlice) (bool, string) {
		most := 0
		for _, one := range all { // there may be empty ones, and one for each kind of address
			if n := len(one.Endpoints); n > most {
				most, slice = n, one
			}
		}
		return most == backends, fmt.Sprintf("%d of %d endpoints", most, backends)
	})
	if err != nil {
		return nil, err
	}
	return s.modelOf(slice)
}

func (s *scaling) modelOf(slice *discoveryv1.EndpointSlice) (*model, error) {
	port := int32(0)
	for _, p := range slice.Ports {
		if p.Name != nil && *p.Name == "http" && p.Port != nil {
			port = *p.Port
		}
	}
	objects, err := s.Render("routescale.yaml", manifest, map[string]any{
		"AddressType": slice.AddressType, "Port": port, "Gateway": scenario.GatewayName, "GatewayNamespace": s.Namespace,
	})
	if err != nil {
		return nil, err
	}
	m := &model{}
	for i, into := range []client.Object{&m.service, &m.slice, &m.route} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, into); err != nil {
			return nil, fmt.Errorf("manifest routescale.yaml: %w", err)
		}
	}
	for _, e := range slice.Endpoints {
		if e.TargetRef == nil {
			return nil, errors.New("an endpoint of service echo names no pod")
		}
		// Of the pod's own namespace: a reference from elsewhere would mislead.
		m.endpoints = append(m.endpoints, discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions})
		m.pods = append(m.pods, e.TargetRef.Name)
	}
	return m, nil
}

// objects are those of a route, in the order in which they are created: what is
// referred to comes first.
func (m *model) objects(r *route) []client.Object {
	if r.set != nil {
		return []client.Object{m.ofSet(r)}
	}
	service, slice, http := m.service.DeepCopy(), m.slice.DeepCopy(), m.route.DeepCopy()
	all := []client.Object{service, slice, http}
	for _, o := range all {
		o.SetName(r.name)
		o.SetNamespace(r.namespace)
	}
	slice.Labels[discoveryv1.LabelServiceName] = r.name
	slice.Endpoints = []discoveryv1.Endpoint{m.endpoints[r.pod]}
	http.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(r.host())}
	http.Spec.Rules[0].BackendRefs[0].Name = gatewayv1.ObjectName(r.name)
	http.Spec.Rules[0].Filters[0].RequestHeaderModifier.Set = headers(r)
	return all
}

func headers(r *route) []gatewayv1.HTTPHeader {
	var all []gatewayv1.HTTPHeader
	for _, field := range marker.Expect(r.name, r.generation).Filter() {
		all = append(all, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(field[0]), Value: field[1]})
	}
	return all
}

// expects is what must answer a route now.
func (m *model) expects(r *route) scenario.Expectation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		e := scenario.Expectation{Host: r.host(), Gone: true}
		if r.set != nil {
			e.Serial = r.set.serial
		}
		return e
	}
	want := marker.Expect(r.name, r.generation)
	if r.set != nil { // whose backend has all pods
		return scenario.Expectation{Host: r.host(), Want: want, Serial: r.set.serial}
	}
	want.Pod = m.pods[r.pod]
	return scenario.Expectation{Host: r.host(), Want: want}
}

func (m *model) expectations(routes []*route) []scenario.Expectation {
	all := make([]scenario.Expectation, len(routes))
	for i, r := range routes {
		all[i] = m.expects(r)
	}
	return all
}

// edit gives a route another marker.
func (s *scaling) edit(ctx context.Context, r *route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
	objects := s.model.objects(r)
	edited := objects[len(objects)-1].(*gatewayv1.HTTPRoute)
	return s.patch(ctx, edited, map[string]any{"spec": map[string]any{"rules": edited.Spec.Rules}})
}

// replace gives a route's Service another endpoint.
func (s *scaling) replace(ctx context.Context, r *route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pod = (r.pod + 1) % backends
	slice := s.model.objects(r)[1].(*discoveryv1.EndpointSlice)
	return s.patch(ctx, slice, map[string]any{"endpoints": slice.Endpoints})
}

func (s *scaling) patch(ctx context.Context, o client.Object, change any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if err := s.Kube.Patch(ctx, o, client.RawPatch(types.MergePatchType, data)); err != nil {
		return fmt.Errorf("change %s: %w", kube.Describe(o), err)
	}
	return nil
}

// create creates routes from a number on, with what they refer to.
func (s *scaling) create(ctx context.Context, n int, done func(int)) error {
	if err := s.makeSets(ctx, len(s.routes)+n); err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		s.writing += time.Since(began)
	}()
	fresh := make([]*route, n)
	for i := range fresh {
		fresh[i] = s.newRoute(len(s.routes) + i)
	}
	s.routes = append(s.routes, fresh...)
	return kube.Parallel(ctx, n, s.Values.Int("writers"), done, func(ctx context.Context, i int) error {
		objects := s.model.objects(fresh[i])
		s.written.Add(int64(len(objects)))
		return kube.Create(ctx, s.Kube, objects...)
	})
}

// remove deletes a route with what it refers to.
func (s *scaling) remove(ctx context.Context, r *route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	objects := s.model.objects(r)
	for i := range objects { // who refers goes first
		o := objects[len(objects)-1-i]
		if err := s.Kube.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", kube.Describe(o), err)
		}
	}
	return nil
}

// living are the routes that were not deleted.
func (s *scaling) living() []*route {
	var all []*route
	for _, r := range s.routes {
		if !r.gone {
			all = append(all, r)
		}
	}
	return all
}

// there is how many routes there are.
func (s *scaling) there() int { return len(s.living()) }
