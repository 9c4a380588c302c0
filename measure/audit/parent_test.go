package audit

import (
	"strings"
	"testing"

	"github.com/gatemark/gatemark/measure/history"
)

func ref(name, section string) map[string]any {
	return map[string]any{"name": name, "sectionName": section}
}

// Entries are for the parents that a route names, however it names them.
func TestEntriesForParentsThatARouteDoesNotName(t *testing.T) {
	s := newScript(t)
	s.refs = []any{map[string]any{"name": "eg"}, map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "demo", "name": "istio"}}
	own, other := parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"}
	s.create("good")
	s.route(eg, "good", own)
	s.route(istio, "good", own, other)
	if r := s.report(Options{}); len(r.Problems) != 0 {
		t.Fatalf("problems where there are none: %+v", r.Problems)
	}
	extra := parent{Controller: egName, Gateway: "elsewhere"}
	s.create("bad")
	s.route(eg, "bad", own, extra)
	s.route(eg, "bad", own, parent{Controller: egName, Gateway: "elsewhere", Reason: "Other"}) // not another entry
	p := find(s.report(Options{}), NoParent, eg, egName)
	if p == nil || p.Writes != 1 || p.Objects != 1 {
		t.Fatalf("problem %+v", p)
	}
	if f := p.Finding("attached-routes"); f.ID != "attached-routes/entries-for-no-parent" || !strings.Contains(f.Text, "for parents that the route does not name") {
		t.Errorf("finding %+v", f)
	}
}

// A section is a parent of its own.
func TestEntriesForASection(t *testing.T) {
	s := newScript(t)
	s.refs = []any{ref("eg", "http")}
	s.create("r")
	s.route(eg, "r", parent{Controller: egName, Gateway: "eg"})
	if find(s.report(Options{}), NoParent, eg, egName) == nil {
		t.Error("an entry for the whole Gateway is not one for its section")
	}
}

// A parent that a route had until now may still be written about.
func TestEntriesForAParentOfTheGenerationBefore(t *testing.T) {
	s := newScript(t)
	s.refs = []any{map[string]any{"name": "new"}}
	s.create("r")
	s.status(eg, "httproutes", "r", 2, parents(parent{Controller: egName, Gateway: "eg", Observed: 1}))
	if p := find(s.report(Options{}), NoParent, eg, egName); p != nil {
		t.Errorf("problem %+v", p)
	}
}

func TestInferredEntriesForNoParent(t *testing.T) {
	i := NewInference(Options{Since: begin})
	record := i.Record("httproutes")
	show := func(v history.Event[Object]) {
		v.Object.Spec.ParentRefs = []reference{{Name: "eg"}}
		record(v)
	}
	e := parent{Controller: egName, Gateway: "eg"}
	show(version(t, "r", 2, 1, false))
	show(version(t, "r", 3, 1, false, e))
	if r := i.Report(); len(r.Problems) != 0 {
		t.Fatalf("problems where there are none: %+v", r.Problems)
	}
	show(version(t, "r", 4, 1, false, e, parent{Controller: egName, Gateway: "elsewhere"}))
	if p := find(i.Report(), NoParent, egName, egName); p == nil || p.Writes != 1 {
		t.Errorf("problem %+v", p)
	}
}
