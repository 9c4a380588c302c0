package audit

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/measure/history"
)

func version(t *testing.T, name string, rv int, generation int64, listed bool, all ...parent) history.Event[Object] {
	t.Helper()
	status, err := json.Marshal(parents(all...))
	if err != nil {
		t.Fatal(err)
	}
	o := &Object{Status: status}
	o.Metadata = history.Meta{Namespace: "demo", Name: name, UID: "uid-" + name, ResourceVersion: fmt.Sprint(rv), Generation: generation}
	return history.Event[Object]{Type: watch.Modified, Object: o, At: begin.Add(time.Duration(rv) * time.Millisecond), Listed: listed}
}

func TestInference(t *testing.T) {
	i := NewInference(Options{Since: begin})
	record := i.Record("httproutes")
	e, is := parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"}
	record(version(t, "old", 1, 1, true, e, e)) // there before: nobody's fault
	record(version(t, "r", 2, 1, false))
	record(version(t, "r", 3, 1, false, e))
	record(version(t, "r", 4, 1, false, e, is))
	record(version(t, "r", 5, 2, false, e, is)) // a new spec is no status write
	record(version(t, "r", 6, 2, false, e, is, is))
	r := i.Report()
	if !r.Inferred || r.Objects != 1 {
		t.Errorf("inferred %v, %d objects", r.Inferred, r.Objects)
	}
	counts := map[string]int{}
	for _, w := range r.Writers {
		counts[w.Name] = w.Total.Writes
	}
	if counts[egName] != 1 || counts[istioName] != 2 || len(counts) != 2 {
		t.Errorf("writes %v", counts)
	}
	if p := find(r, Duplicate, istioName, istioName); p == nil || p.Writes != 1 {
		t.Errorf("duplicates %+v", r.Problems)
	}
	if p := find(r, Foreign, istioName, istioName); p != nil {
		t.Errorf("a guessed writer was blamed: %+v", p)
	}
}

func TestInferredFlips(t *testing.T) {
	i := NewInference(Options{Since: begin})
	record := i.Record("httproutes")
	e, is := parent{Controller: egName, Gateway: "eg"}, parent{Controller: istioName, Gateway: "istio"}
	for n := range 20 {
		if n%2 == 0 {
			record(version(t, "r", 10+n, 1, false, e, is))
		} else {
			record(version(t, "r", 10+n, 1, false, e))
		}
	}
	r := i.Report()
	flips := 0
	for _, p := range r.Problems {
		switch p.Kind {
		case Restless:
			flips++
		case War, Foreign:
			t.Errorf("%s from a guessed writer", p.Kind)
		}
	}
	if flips == 0 {
		t.Errorf("no flips in %+v", r.Problems)
	}
}
