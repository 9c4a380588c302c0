package routepropagation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// TestQuestionsOfOtherRoutes: what is asked of a GRPCRoute and of a TLSRoute,
// before and after every kind of change that they have.
func TestQuestionsOfOtherRoutes(t *testing.T) {
	both := &pair{pods: map[string]string{"one": "one-x", "two": "two-y"}, slices: []*discoveryv1.EndpointSlice{endpointsAt("10.0.0.1"), endpointsAt("10.0.0.2")}}
	for kind, want := range map[string]map[string]string{
		scenario.GRPCRoute: {
			"header":           "grpc changed-header.gatemark.test /gatemark.Any/Call: status 200, route changed-header generation 1 -> status 200, route changed-header generation 2",
			"backend":          "grpc changed-backend.gatemark.test /gatemark.Any/Call: status 200, route changed-backend generation 1 from pod one-x -> status 200, route changed-backend generation 1 from pod two-y",
			"weight":           "grpc changed-weight.gatemark.test /gatemark.Any/Call: status 200, route changed-weight generation 1 from pod one-x -> status 200, route changed-weight generation 1 from pod two-y",
			"match":            "grpc changed-match.gatemark.test /v1/Call: status 404 -> status 200, route changed-match generation 1",
			"host":             "grpc h1.changed-host.gatemark.test /gatemark.Any/Call: status 404 -> status 200, route changed-host generation 1",
			"delete":           "grpc remade.gatemark.test /gatemark.Any/Call: status 200, route remade generation 1 -> status 404",
			"recreate":         "grpc remade.gatemark.test /gatemark.Any/Call: status 404 -> status 200, route remade generation 2",
			"endpoint-added":   "grpc balanced.gatemark.test /gatemark.Any/Call: status 200, route balanced generation 1 from pod one-x -> status 200, route balanced generation 1 from pod two-y",
			"endpoint-removed": "grpc balanced.gatemark.test /gatemark.Any/Call: status 200, route balanced generation 1 from pod two-y -> status 200, route balanced generation 1 from pod one-x",
		},
		scenario.TLSRoute: {
			"backend":          "http1 changed-backend.gatemark.test /: status 200, from pod one-x -> status 200, from pod two-y",
			"weight":           "http1 changed-weight.gatemark.test /: status 200, from pod one-x -> status 200, from pod two-y",
			"host":             "http1 h1.changed-host.gatemark.test /: connection closed -> status 200",
			"delete":           "http1 remade.gatemark.test /: status 200 -> connection closed",
			"recreate":         "http1 remade.gatemark.test /: connection closed -> status 200",
			"endpoint-added":   "http1 balanced.gatemark.test /: status 200, from pod one-x -> status 200, from pod two-y",
			"endpoint-removed": "http1 balanced.gatemark.test /: status 200, from pod two-y -> status 200, from pod one-x",
		},
	} {
		p := newPropagation(scenariotest.Trial(t, Scenario, map[string]any{"route": kind}))
		got := map[string]string{}
		for _, s := range p.subjects(kindNames(p.route()), both) {
			for n := range s.kinds {
				next, err := s.step(n)
				if err != nil {
					t.Fatal(err)
				}
				q := next.question
				got[next.kind] = fmt.Sprintf("%s %s %s: %v -> %v", q.Protocol, q.Host, q.Path, q.Old, q.New)
				if q.TLS != (kind == scenario.TLSRoute) {
					t.Errorf("%s of a %s: asked over TLS: %t", next.kind, kind, q.TLS)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestOtherRoutesAsObjects(t *testing.T) {
	object := func(kind, shaped string) []*unstructured.Unstructured {
		trial := scenariotest.Trial(t, Scenario, map[string]any{"route": kind})
		for _, s := range shapes {
			if s.name == shaped {
				object, err := routeObject(trial, "route-1", s.form("route-1"))
				if err != nil {
					t.Fatal(err)
				}
				return []*unstructured.Unstructured{object.(*unstructured.Unstructured)}
			}
		}
		t.Fatalf("no shape %s", shaped)
		return nil
	}
	host := scenariotest.Typed[gatewayv1.GRPCRoute](t, object(scenario.GRPCRoute, "host"), scenario.GRPCRoute)
	if rule := host.Spec.Rules[0]; len(rule.Matches) != 0 || len(rule.Filters) != 1 || *rule.BackendRefs[0].Port != 81 || host.Spec.Hostnames[0] != "route-1.gatemark.test" {
		t.Errorf("by host: %+v", host.Spec)
	}
	both := scenariotest.Typed[gatewayv1.GRPCRoute](t, object(scenario.GRPCRoute, "path+header"), scenario.GRPCRoute)
	if m := both.Spec.Rules[0].Matches; len(m) != 1 || *m[0].Method.Service != "route_1" || *m[0].Method.Method != "Call" || m[0].Headers[0].Value != "route-1" || len(both.Spec.Hostnames) != 0 {
		t.Errorf("by service and header: %+v", both.Spec)
	}
	passed := scenariotest.Typed[gatewayv1.TLSRoute](t, object(scenario.TLSRoute, "host"), scenario.TLSRoute)
	if r := passed.Spec.Rules; len(r) != 1 || *r[0].BackendRefs[0].Port != 443 || passed.Spec.Hostnames[0] != "route-1.gatemark.test" {
		t.Errorf("by name: %+v", passed.Spec)
	}
}

func TestWhatOtherRoutesLack(t *testing.T) {
	for _, c := range []struct {
		set  map[string]any
		want string
	}{
		{map[string]any{"route": "TLSRoute", "changes": "header"}, `"header" is not one of all, create, backend`},
		{map[string]any{"route": "TLSRoute", "shapes": "path"}, `"path" is not one of all, host`},
		{map[string]any{"route": "GRPCRoute", "shapes": "bare"}, `"bare" is not one of all`},
		{map[string]any{"route": "TLSRoute", "connections": "kept"}, "show nothing of a TLSRoute"},
		{map[string]any{"route": "TLSRoute", "changes": "all", "shapes": "all"}, ""},
	} {
		err := errors.Join(Scenario.Check(c.set)...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %s", c.set, err, c.want)
		}
	}
	p := newPropagation(scenariotest.Trial(t, Scenario, map[string]any{"route": "TLSRoute"}))
	if got := p.options().Connections; got != probe.Fresh {
		t.Errorf("a TLSRoute is probed on %v connections", got)
	}
}
