package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/result"
)

// Four controllers that each write one entry for their own Gateway, and update
// it, do nothing wrong.
func TestGoodCitizens(t *testing.T) {
	s := newScript(t)
	for i := range 20 {
		name := fmt.Sprint("r", i)
		s.create(name)
		e, n, is := parent{Controller: egName, Gateway: "eg"}, parent{Controller: nginxName, Gateway: "nginx"}, parent{Controller: istioName, Gateway: "istio"}
		s.route(eg, name, e)
		s.route(nginx, name, e, n)
		s.route(istio, name, e, n, is)
		for j := range 10 { // each goes on about its own entry
			e.Reason = fmt.Sprint("A", j)
			s.route(eg, name, e, n, is)
			n.Reason = fmt.Sprint("B", j)
			s.route(nginx, name, is, n, e) // the order of entries says nothing
		}
	}
	r := s.report(Options{})
	if len(r.Problems) != 0 {
		t.Errorf("problems where there are none: %+v", r.Problems)
	}
	if r.Objects != 20 || r.OtherWrites != 20 || len(r.Writers) != 3 {
		t.Errorf("%d objects, %d other writes, %d writers", r.Objects, r.OtherWrites, len(r.Writers))
	}
}

func TestCountsByWriter(t *testing.T) {
	s := newScript(t)
	s.create("r")
	s.route(eg, "r", parent{Controller: egName, Gateway: "eg"})
	s.again()
	s.again()
	s.conflict(istio, "r")
	s.route(istio, "r", parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"})
	s.status(istio, "gateways", "gw", 1, map[string]any{"conditions": []any{}, "listeners": []any{map[string]any{"name": "a", "attachedRoutes": 1}}})
	s.status(istio, "gateways", "gw", 1, map[string]any{"conditions": []any{}, "listeners": []any{map[string]any{"name": "a", "attachedRoutes": 2}}})
	r := s.report(Options{Step: time.Hour})
	want := []Writer{
		{Name: istio, Agents: []string{"istiod/v1"}, Controllers: []string{istioName}, Total: Counts{Writes: 3, Conflicts: 1},
			Kinds: map[string]Counts{"httproutes": {Writes: 1, Conflicts: 1}, "gateways": {Writes: 2}}},
		{Name: eg, Agents: []string{"envoy-gateway/v1"}, Controllers: []string{egName}, Total: Counts{Writes: 1, NoOps: 2},
			Kinds: map[string]Counts{"httproutes": {Writes: 1, NoOps: 2}}},
	}
	if diff := cmp.Diff(want, r.Writers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	line := []Bucket{{0, eg, "httproutes", 1}, {0, istio, "gateways", 2}, {0, istio, "httproutes", 1}}
	if diff := cmp.Diff(line, r.Timeline); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.By(func(w Writer) bool { return strings.Contains(w.Name, "istio") }, "gateways"); got != (Counts{Writes: 2}) {
		t.Errorf("istio wrote %+v to gateways", got)
	}
	series := r.Series("writes", "t")
	if err := series.Validate(); err != nil || series.Len() != 3 {
		t.Errorf("series of %d rows, %v", series.Len(), err)
	}
}

// One controller copies the entries of the others.
func TestDuplicatesOfOthers(t *testing.T) {
	s := newScript(t)
	for i := range 10 {
		name := fmt.Sprint("r", i)
		s.create(name)
		e, n, is := parent{Controller: egName, Gateway: "eg"}, parent{Controller: nginxName, Gateway: "nginx"}, parent{Controller: istioName, Gateway: "istio"}
		s.route(istio, name, is)
		s.route(eg, name, is, e)
		s.route(nginx, name, n, e, is, is, e)
		e.Reason = "Changed" // carrying a duplicate along is not making it
		s.route(eg, name, n, e, is, is, e)
	}
	r := s.report(Options{})
	for _, other := range []string{egName, istioName} {
		p := find(r, Duplicate, nginx, other)
		if p == nil || p.Writes != 10 || p.Objects != 10 || p.WorstCount != 5 {
			t.Errorf("duplicates of %s by nginx: %+v", other, p)
		}
		if p := find(r, Foreign, nginx, other); p == nil || p.Objects != 10 {
			t.Errorf("foreign entries of %s by nginx: %+v", other, p)
		}
	}
	for _, p := range r.Problems {
		if p.Writer != nginx {
			t.Errorf("blamed %s for %s of %s", p.Writer, p.Kind, p.Other)
		}
	}
	f := find(r, Duplicate, nginx, istioName).Finding("attached-routes")
	if f.Severity != result.Notable || !strings.Contains(f.Text, "up to 5 entries on httproutes demo/r0") {
		t.Errorf("finding %+v", f)
	}
	if want := "update " + nginx + " httproutes demo/r0 [" + strings.Join([]string{nginxName, egName, istioName, istioName, egName}, ", ") + "]"; !strings.Contains(f.Evidence[0].Text, want) {
		t.Errorf("evidence %q does not hold %q", f.Evidence[0].Text, want)
	}
}

// Traefik writes an entry for a Gateway of Envoy Gateway, which takes it over,
// which makes Traefik write it again, for ever.
func TestWar(t *testing.T) {
	s := newScript(t)
	s.create("r")
	own := parent{Controller: traefikName, Gateway: "traefik"}
	claimed := parent{Controller: traefikName, Gateway: "eg"}
	all := []parent{{Controller: egName, Gateway: "eg"}}
	s.route(eg, "r", all...)
	for range 15 {
		s.route(traefik, "r", append([]parent{own, claimed}, all...)...)
		all = append(all, parent{Controller: egName, Gateway: "eg"})
		s.route(eg, "r", append([]parent{own}, all...)...)
	}
	r := s.report(Options{ControllerOf: func(_, name string) (string, bool) {
		c, ok := map[string]string{"eg": egName, "traefik": traefikName}[name]
		return c, ok
	}})
	war := find(r, War, eg, traefik)
	if war == nil || war.Objects != 1 || war.WorstCount < 20 {
		t.Fatalf("war %+v in %+v", war, r.Problems)
	}
	if f := war.Finding("x"); f.Severity != result.Costly || len(war.Evidence) != evidenceLines ||
		!strings.Contains(f.Evidence[0].Text, eg) || !strings.Contains(f.Evidence[0].Text, traefik) {
		t.Errorf("finding %+v", f)
	}
	if p := find(r, WrongParent, traefik, egName); p == nil || p.Writes != 15 {
		t.Errorf("entries for the other's Gateway: %+v", p)
	}
	if p := find(r, Foreign, eg, traefikName); p == nil || p.Writes != 15 {
		t.Errorf("taking over entries: %+v", p)
	}
	if p := find(r, Duplicate, eg, egName); p == nil || p.WorstCount != 17 {
		t.Errorf("duplicates %+v", p)
	}
	if p := find(r, Foreign, traefik, traefikName); p != nil {
		t.Errorf("an owner is foreign to its own name: %+v", p)
	}
	if r.Problems[0].Kind != War {
		t.Errorf("the worst problem is %s", r.Problems[0].Kind)
	}
}

func TestOwnersAsTold(t *testing.T) {
	s := newScript(t)
	for i := range 3 { // the impostor is always first
		name := fmt.Sprint("r", i)
		s.create(name)
		s.route(nginx, name, parent{Controller: istioName, Gateway: "istio"})
		s.route(istio, name, parent{Controller: istioName, Gateway: "istio", Reason: "Mine"})
	}
	told := s.report(Options{Owners: map[string][]string{istioName: {"system:serviceaccount:istio-system:"}}})
	if find(told, Foreign, nginx, istioName) == nil || find(told, Foreign, istio, istioName) != nil {
		t.Errorf("problems %+v", told.Problems)
	}
}

func TestGenerations(t *testing.T) {
	s := newScript(t)
	s.create("r")
	s.status(eg, "httproutes", "r", 3, parents(parent{Controller: egName, Gateway: "eg", Observed: 2}))
	s.status(eg, "httproutes", "r", 3, parents(parent{Controller: egName, Gateway: "eg", Observed: 3}))
	// Istio's write carries Envoy Gateway's entry along and changes its own.
	s.status(istio, "httproutes", "r", 4, parents(parent{Controller: egName, Gateway: "eg", Observed: 3}, parent{Controller: istioName, Gateway: "istio", Observed: 4}))
	r := s.report(Options{})
	if p := find(r, Stale, eg, ""); p == nil || p.Writes != 1 {
		t.Errorf("stale %+v", p)
	}
	if len(r.Problems) != 1 {
		t.Errorf("problems %+v", r.Problems)
	}
}

// Responses end in another order than versions are made: nobody is to be
// blamed for what another wrote.
func TestOrderIsByVersion(t *testing.T) {
	s := newScript(t)
	s.create("r")
	e, is := parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"}
	s.route(eg, "r", e)
	s.route(istio, "r", e, is)
	for i := range 40 {
		e.Reason = fmt.Sprint("E", i)
		s.route(eg, "r", e, is)
		is.Reason = fmt.Sprint("I", i)
		s.route(istio, "r", e, is)
		n := len(s.lines)
		s.lines[n-1], s.lines[n-2] = s.lines[n-2], s.lines[n-1]
	}
	r := s.report(Options{})
	if len(r.Problems) != 0 {
		t.Errorf("problems %+v", r.Problems)
	}
	if got := r.By(func(Writer) bool { return true }, ""); got.Writes != 82 || got.NoOps != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestWindowAndUnknownPast(t *testing.T) {
	s := newScript(t)
	// The object is older than the log: what it held is not known.
	s.route(istio, "old", parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"})
	since := s.now.Add(time.Millisecond)
	s.route(istio, "old", parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio", Reason: "Next"})
	until := s.now
	s.route(istio, "old", parent{Controller: istioName, Gateway: "istio"})
	r := s.report(Options{Since: since, Until: until})
	if got := r.By(func(Writer) bool { return true }, ""); got.Writes != 1 {
		t.Errorf("counted %+v in the window, want 1 write", got)
	}
	if len(r.Problems) != 0 {
		t.Errorf("problems %+v", r.Problems)
	}
}

func TestOneNamespace(t *testing.T) {
	s := newScript(t)
	s.create("r")
	s.route(eg, "r", parent{Controller: egName, Gateway: "eg"}, parent{Controller: egName, Gateway: "eg"})
	for namespace, want := range map[string]int{"": 1, "demo": 1, "other": 0} {
		r := s.report(Options{Namespace: namespace})
		if got := r.By(func(Writer) bool { return true }, ""); got.Writes != want || len(r.Problems) != want || r.OtherWrites != want {
			t.Errorf("namespace %q: %+v, %d problems, %d other writes", namespace, got, len(r.Problems), r.OtherWrites)
		}
	}
}
