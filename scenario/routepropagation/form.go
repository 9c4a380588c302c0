package routepropagation

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed routeform.yaml
var formManifest string

// A routeForm is all in which one route of this scenario differs from another:
// what it matches by, what it marks, and where it leads.
type routeForm struct {
	// Host, Path and Header are matched where they are not empty. The header is
	// Probe-For.
	Host, Path, Header string
	// Generation is that of its marker.
	Generation int64
	Backends   []weighted
}

// weighted is a Service and its share.
type weighted struct {
	Service string
	Weight  int
}

// A shape is what routes match by. {} stands for the route's name. A valid
// route with a good status may still be a 404, and only in some shapes.
// The path of a GRPCRoute is a service.
type shape struct {
	name, host, path, header string
	routes                   []string // kinds of route that have it
}

var (
	everyRoute = []string{scenario.HTTPRoute, scenario.GRPCRoute, scenario.TLSRoute}
	ofRequests = []string{scenario.HTTPRoute, scenario.GRPCRoute}
	ofHTTP     = []string{scenario.HTTPRoute}
)

var shapes = []shape{
	{"host", "{}.gatemark.test", "/", "", everyRoute},
	{"bare", "{}.gatemark.test", "", "", ofHTTP}, // no matches at all: the default is the path prefix /
	{"path", "", "/{}", "", ofRequests},
	{"header", "", "", "{}", ofRequests},
	{"host+path", "{}.gatemark.test", "/{}", "", ofRequests},
	{"host+header", "{}.gatemark.test", "", "{}", ofRequests},
	{"path+header", "", "/{}", "{}", ofRequests},
	{"host+path+header", "{}.gatemark.test", "/{}", "{}", ofRequests},
}

func shapeNames(r *scenario.Route) []string {
	var names []string
	for _, s := range shapes {
		if slices.Contains(s.routes, r.Kind) {
			names = append(names, s.name)
		}
	}
	return names
}

// form is a route's first form in this shape.
func (s shape) form(name string) routeForm {
	fill := func(text string) string { return strings.ReplaceAll(text, "{}", name) }
	return routeForm{
		Host: fill(s.host), Path: fill(s.path), Header: fill(s.header),
		Generation: 1, Backends: []weighted{{"echo", 1}},
	}
}

// asks is the question whose request a route of a kind serves in this form:
// without states.
func (f routeForm) asks(r *scenario.Route) probe.Question {
	q := probe.Question{Host: f.Host, Path: r.Path(f.Path), Protocol: r.Protocol, TLS: r.TLS}
	if q.Host == "" {
		q.Host = "any.gatemark.test"
	}
	if f.Header != "" {
		q.Header = [][2]string{{"Probe-For", f.Header}}
	}
	return q
}

// marker is what answers of the route in this form carry. pods names the pods of
// Services that have one only.
func (f routeForm) marker(r *scenario.Route, name string, pods map[string]string) marker.Marker {
	var m marker.Marker
	if !r.TLS {
		m = marker.Expect(name, f.Generation)
	}
	for _, b := range f.Backends {
		if b.Weight > 0 {
			m.Pod = pods[b.Service]
		}
	}
	return m
}

// unserved is what is answered where no route serves.
func unserved(r *scenario.Route) probe.State {
	if r.TLS {
		return probe.Closes()
	}
	return probe.Answers(404)
}

// match is a form's path, as routes of a kind match it.
func (f routeForm) match(r *scenario.Route) string {
	switch {
	case r.Kind == scenario.HTTPRoute && f.Path != "":
		return fmt.Sprintf("path: {type: PathPrefix, value: %q}", f.Path)
	case r.Kind == scenario.GRPCRoute && r.Service(f.Path) != "":
		return fmt.Sprintf("method: {service: %q, method: %q}", r.Service(f.Path), r.Method())
	}
	return ""
}

// routeObject is the route in a form.
func routeObject(t *scenario.Trial, name string, f routeForm) (client.Object, error) {
	r := scenario.RouteOf(t.Values)
	objects, err := t.Render("routeform.yaml", formManifest, map[string]any{
		"Name": name, "Namespace": t.Namespace, "Gateway": scenario.GatewayName, "Form": f,
		"Marker": marker.Expect(name, f.Generation).Filter(), "Route": r, "Version": t.RouteVersion(), "Match": f.match(r),
	})
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, errors.New("routeform.yaml is not one object")
	}
	return objects[0], nil
}
