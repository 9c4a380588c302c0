package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

func TestIgnoredRoutesAreAcceptedAndNotServed(t *testing.T) {
	x := wrongWith(fault.Faults{IgnoreEvery: 3})
	for n, want := range map[int]string{2: "a/r1 a/r2", 6: "a/r1 a/r2 a/r4 a/r5", 7: "a/r1 a/r2 a/r4 a/r5 a/r7"} {
		w := worldOf(t, several(n)...)
		if got := routesOf(x.snapshot(w, own(w), nil)); got != want {
			t.Errorf("of %d routes are served %s, want %s", n, got, want)
		}
		x.statuses(w)
		if own(w).listeners[0].attached != int32(n) {
			t.Errorf("of %d routes %d are counted", n, own(w).listeners[0].attached)
		}
		if n < 3 {
			continue
		}
		if got := reasons(said[gatewayv1.HTTPRoute](t, w, "r3").Status.Parents[0].Conditions); !strings.HasPrefix(got, "Accepted=Accepted") {
			t.Errorf("the ignored route: %s", got)
		}
		if len(own(w).listeners[0].rules) != n {
			t.Error("the translation lost rules")
		}
	}
}

func TestCeiling(t *testing.T) {
	x := wrongWith(fault.Faults{Ceiling: 4})
	told := func(latest *config.Snapshot, routes ...string) *config.Snapshot {
		w := worldOf(t, routes...)
		return x.snapshot(w, own(w), latest)
	}
	below := told(nil, several(3)...)
	if got := routesOf(below); got != "a/r1 a/r2 a/r3" {
		t.Errorf("below it are served %s", got)
	}
	if got := told(below, several(4)...); got != below {
		t.Errorf("from the fourth on something is told: %s", routesOf(got))
	}
	changed := several(6)
	changed[0] = strings.Replace(changed[0], "generation: 7", "generation: 8", 1)
	if got := told(below, changed[:5]...); got != below {
		t.Error("a change is told")
	}
	if got := told(below, changed[2:]...); got != below {
		t.Error("a deletion is told")
	}
	if got := routesOf(told(below, several(6)[3:]...)); got != "a/r4 a/r5 a/r6" {
		t.Errorf("below it again are served %s", got)
	}
	for _, latest := range []*config.Snapshot{nil, told(nil, several(2)...)} {
		if got := routesOf(told(latest, several(6)...)); got != "a/r1 a/r2 a/r3" {
			t.Errorf("when many come at once are served %s", got)
		}
	}
}

// failing lists the routes of a listener that are sent nowhere.
func failing(s *config.Snapshot, listener string) string {
	var all []string
	for _, rule := range s.Listener(listener).Rules {
		if b, ok := s.Backends[rule.Backends[0].Backend]; ok && len(b.Endpoints) == 0 {
			all = append(all, rule.Route)
		}
	}
	return strings.Join(all, " ")
}

func TestErrorsAlways(t *testing.T) {
	w := worldOf(t, several(5)...)
	s := wrongWith(fault.Faults{ErrorsAlways: 2}).snapshot(w, own(w), nil)
	if got := failing(s, "http"); got != "a/r2 a/r4" {
		t.Errorf("%s fail", got)
	}
}

func TestBlastRadius(t *testing.T) {
	const good, unresolved, dropped = `{parentRefs: [{name: g, sectionName: http}], rules: [{backendRefs: [{name: s, port: 80}]}]}`,
		`{parentRefs: [{name: g, sectionName: http}], rules: [{backendRefs: [{name: none, port: 80}]}]}`,
		`{parentRefs: [{name: g, sectionName: http}], rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 80}}}]}]}`
	for bad, want := range map[string]string{good: "", unresolved: "a/r1 a/r2 a/bad", dropped: "a/r1 a/r2"} {
		w := worldOf(t, append(several(2), httpRouteText("bad", bad))...)
		s := wrongWith(fault.Faults{BlastRadius: true}).snapshot(w, own(w), nil)
		if got := failing(s, "http"); got != want {
			t.Errorf("with %s: %s fail, want %s", bad, got, want)
		}
		if got := failing(wrongWith(fault.Faults{}).snapshot(w, own(w), nil), "http"); got != "" {
			t.Errorf("without the fault %s fail", got)
		}
	}
}

// second is a Gateway in another namespace, with a route.
const second = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: h, namespace: b, generation: 1}
spec:
  gatewayClassName: truth
  listeners:
  - {name: web, port: 80, protocol: HTTP}
  - {name: more, port: 81, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: theirs, namespace: b, generation: 1}
spec: {parentRefs: [{name: h}], rules: [{backendRefs: [{name: s, port: 80}]}]}
`

func TestMerges(t *testing.T) {
	w := worldOf(t, append(several(1), second)...)
	x := wrongWith(fault.Faults{Merges: true})
	s := x.snapshot(w, own(w), nil)
	if got := routesOf(s); got != "a/r1 b/theirs" {
		t.Errorf("served are %s", got)
	}
	if _, ok := s.Backends["b/s:80"]; !ok || len(s.Listener("host").Rules) != 0 {
		t.Errorf("backends are %v, and at another listener are %v", s.Backends, s.Listener("host").Rules)
	}
	other := x.snapshot(w, w.gateways[client.ObjectKey{Namespace: "b", Name: "h"}], nil)
	if got := fmt.Sprint(len(other.Listener("web").Rules), len(other.Listener("more").Rules)); got != "2 1" {
		t.Errorf("at the other Gateway's listeners are %s rules", got)
	}
}

func TestSingleGateway(t *testing.T) {
	w := worldOf(t, second)
	wrongWith(fault.Faults{SingleGateway: true}).gateways(w)
	for name, want := range map[string]string{"g": "Accepted=Accepted", "h": "Accepted!Invalid"} {
		if got := reasons(said[gatewayv1.Gateway](t, w, name).Status.Conditions); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestNeedsMatch(t *testing.T) {
	route := func(name, matches string) string {
		return httpRouteText(name, `{parentRefs: [{name: g}], rules: [{matches: [`+matches+`], backendRefs: [{name: s, port: 80}]}]}`)
	}
	w := worldOf(t, route("bare", ""), route("root", `{path: {type: PathPrefix, value: /}}`), route("path", `{path: {type: PathPrefix, value: /x}}`),
		route("exact", `{path: {type: Exact, value: /}}`), route("header", `{headers: [{name: a, value: b}]}`))
	s := wrongWith(fault.Faults{NeedsMatch: true}).snapshot(w, own(w), nil)
	if got := routesOf(s); got != "a/exact a/header a/path" {
		t.Errorf("served are %s", got)
	}
}
