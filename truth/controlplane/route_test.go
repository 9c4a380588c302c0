package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestRoutes(t *testing.T) {
	const ok = "Accepted=Accepted ResolvedRefs=ResolvedRefs"
	for _, c := range []struct {
		name, spec string
		more       string
		want       string // conditions
		backend    string // of the first rule on listener http; "-" for no rule
	}{
		{name: "plain", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "by section", spec: `{parentRefs: [{name: g, sectionName: http}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "by port", spec: `{parentRefs: [{name: g, port: 80}], rules: [{backendRefs: [{name: s, port: 80}]}]}`, want: ok, backend: "a/s:80"},
		{name: "no such section", spec: `{parentRefs: [{name: g, sectionName: none}]}`, want: "Accepted!NoMatchingParent ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "no such port", spec: `{parentRefs: [{name: g, port: 81}]}`, want: "Accepted!NoMatchingParent ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "not allowed", spec: `{parentRefs: [{name: g, sectionName: host}], hostnames: [x.host.test]}`,
			want: "Accepted!NotAllowedByListeners ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "no such service", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: none, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!BackendNotFound"},
		{name: "no such port of the service", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 1}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!BackendNotFound"},
		{name: "another kind", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, kind: Other, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!InvalidKind"},
		{name: "a protocol", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 82}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!UnsupportedProtocol"},
		{name: "not granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "granted", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("HTTPRoute", "Service"), want: ok, backend: "b/s:80"},
		{name: "granted to another kind", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("Gateway", "Service"), want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "granted for something else", spec: `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}`,
			more: grant("HTTPRoute", "Secret"), want: "Accepted=Accepted ResolvedRefs!RefNotPermitted"},
		{name: "unsupported filter", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}]}`,
			want: "Accepted!UnsupportedValue ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "partly unsupported", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}, {backendRefs: [{name: s, port: 80}]}]}`,
			want: ok + " PartiallyInvalid=UnsupportedValue", backend: "a/s:80"},
		{name: "incompatible filters", spec: `{parentRefs: [{name: g}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}]}]}`,
			want: "Accepted!IncompatibleFilters ResolvedRefs=ResolvedRefs", backend: "-"},
		{name: "bad expression", spec: `{parentRefs: [{name: g}], rules: [{matches: [{path: {type: RegularExpression, value: "/("}}]}]}`,
			want: "Accepted!UnsupportedValue ResolvedRefs=ResolvedRefs", backend: "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := []string{httpRouteText("r", c.spec)}
			if c.more != "" {
				more = append(more, c.more)
			}
			w := worldOf(t, more...)
			parents := said[gatewayv1.HTTPRoute](t, w, "r").Status.Parents
			if len(parents) != 1 || parents[0].ControllerName != Name || reasons(parents[0].Conditions) != c.want {
				t.Fatalf("got %+v, want %s", parents, c.want)
			}
			for _, condition := range parents[0].Conditions {
				if condition.ObservedGeneration != 7 {
					t.Errorf("%s is of generation %d", condition.Type, condition.ObservedGeneration)
				}
			}
			http := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].listeners[0]
			if c.backend == "-" {
				if len(http.rules) != 0 || http.attached != 0 {
					t.Errorf("%d routes are attached with %d rules", http.attached, len(http.rules))
				}
				return
			}
			if http.attached != 1 || len(http.rules) != 1 || http.rules[0].Backends[0].Backend != c.backend {
				t.Errorf("%d routes are attached: %+v", http.attached, http.rules)
			}
		})
	}
}

func TestEndpointsAreThoseThatAreReady(t *testing.T) {
	w := worldOf(t, httpRouteText("r", `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}, {name: s, port: 81}]}]}`))
	s := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].snapshot()
	if got := fmt.Sprint(s.Backends["a/s:80"]); got != "{false [10.0.0.1:8080 10.0.0.2:8080]}" {
		t.Errorf("port 80: %s", got)
	}
	if got := fmt.Sprint(s.Backends["a/s:81"]); got != "{true []}" {
		t.Errorf("port 81: %s", got)
	}
}

func TestHostsOfARouteAndItsListener(t *testing.T) {
	w := worldOf(t, strings.Replace(httpRouteText("r", `{parentRefs: [{name: g, namespace: a}], hostnames: [x.host.test, other.test]}`), "namespace: a, g", "namespace: b, g", 1),
		strings.Replace(httpRouteText("q", `{parentRefs: [{name: g, namespace: a, sectionName: host}], hostnames: [other.test]}`), "namespace: a, g", "namespace: b, g", 1))
	host := w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].listeners[1]
	if host.attached != 1 {
		t.Errorf("%d routes are attached", host.attached)
	}
	if got := reasons(said[gatewayv1.HTTPRoute](t, w, "q").Status.Parents[0].Conditions); !strings.Contains(got, "Accepted!NoMatchingListenerHostname") {
		t.Errorf("got %s", got)
	}
}

// TestOthersEntriesStay: and ours go with their parentRefs.
func TestOthersEntriesStay(t *testing.T) {
	w := worldOf(t, httpRouteText("r", `{parentRefs: [{name: g}]}`))
	entry := func(controller, name string) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ControllerName: gatewayv1.GatewayController(controller), ParentRef: gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)}}
	}
	for _, s := range w.statuses {
		object, ok := s.object.(*gatewayv1.HTTPRoute)
		if !ok {
			continue
		}
		object = object.DeepCopy()
		object.Status.Parents = []gatewayv1.RouteParentStatus{entry(string(Name), "old"), entry("other", "x"), entry(string(Name), "g"), entry("other", "g")}
		s.into(object)
		var got []string
		for _, p := range object.Status.Parents {
			got = append(got, fmt.Sprintf("%s:%s", p.ControllerName, p.ParentRef.Name))
		}
		if text := strings.Join(got, " "); text != "other:x gatemark.dev/truth:g other:g" {
			t.Errorf("got %s", text)
		}
		before := object.DeepCopy()
		s.into(object)
		if fmt.Sprint(before.Status) != fmt.Sprint(object.Status) {
			t.Errorf("said again: %+v, before %+v", object.Status, before.Status)
		}
	}
}
