package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/measure/history"
)

// listeners is the status of a Gateway or a ListenerSet: of each listener, its
// name, the generation that it is about, and how many routes it counts.
func listeners(all ...[3]any) map[string]any {
	conditions := func(generation any) []any {
		return []any{map[string]any{"type": "Programmed", "status": "True", "reason": "Programmed", "message": "", "observedGeneration": generation}}
	}
	list := []any{}
	for _, l := range all {
		list = append(list, map[string]any{"name": l[0], "attachedRoutes": l[2], "conditions": conditions(l[1])})
	}
	newest := any(1)
	if len(all) > 0 {
		newest = all[0][1]
	}
	return map[string]any{"conditions": conditions(newest), "listeners": list}
}

// TestListeners: each has its own entry, in Gateways and in ListenerSets.
func TestListeners(t *testing.T) {
	for _, resource := range []string{"gateways", "listenersets"} {
		s := newScript(t)
		s.status(eg, resource, "gw", 2, listeners([3]any{"a", 2, 0}, [3]any{"b", 2, 0}))
		s.status(eg, resource, "gw", 2, listeners([3]any{"a", 2, 1}, [3]any{"b", 2, 1}))
		if r := s.report(Options{}); len(r.Problems) != 0 {
			t.Errorf("%s: problems where there are none: %+v", resource, r.Problems)
		}
		s.status(eg, resource, "gw", 3, listeners([3]any{"a", 3, 1}, [3]any{"b", 2, 2}))                    // b is about the past
		s.status(eg, resource, "gw", 3, listeners([3]any{"a", 3, 1}, [3]any{"b", 3, 2}, [3]any{"b", 3, 3})) // and there twice
		r := s.report(Options{})
		if p := find(r, Stale, eg, ""); p == nil || p.Writes != 1 || p.Worst != resource+" demo/gw" {
			t.Errorf("%s: stale listeners: %+v", resource, p)
		}
		p := find(r, Duplicate, eg, "")
		if p == nil || p.Writes != 1 {
			t.Fatalf("%s: duplicate listeners: %+v", resource, p)
		}
		if f := p.Finding("s"); !strings.Contains(f.Text, "several status entries for one listener") {
			t.Errorf("finding %q", f.Text)
		}
	}
}

// TestWarOnAListener: two writers that each count the routes of a listener in
// their own way. One that keeps to another listener is in no war.
func TestWarOnAListener(t *testing.T) {
	s := newScript(t)
	s.status(nginx, "gateways", "gw", 1, listeners([3]any{"a", 1, 0}, [3]any{"b", 1, 0}))
	for n := range 10 {
		s.status(istio, "gateways", "gw", 1, listeners([3]any{"a", 1, 100}, [3]any{"b", 1, n}))
		s.status(eg, "gateways", "gw", 1, listeners([3]any{"a", 1, 7}, [3]any{"b", 1, n}))
		s.status(nginx, "gateways", "gw", 1, listeners([3]any{"a", 1, 7}, [3]any{"b", 1, n + 1}))
	}
	r := s.report(Options{})
	if find(r, War, eg, istio) == nil || len(r.Problems) != 1 {
		t.Errorf("want one war, of eg and istio: %+v", r.Problems)
	}
}

// TestStatusOfAnothersGateway: who owns a controller's name is learnt from
// routes; it is others who trespass.
func TestStatusOfAnothersGateway(t *testing.T) {
	owned := Options{ControllerOf: func(_, name string) (string, bool) { return egName, name == "gw" }}
	s := newScript(t)
	s.create("r")
	s.route(eg, "r", parent{Controller: egName, Gateway: "gw"})
	s.status(eg, "gateways", "gw", 1, listeners([3]any{"a", 1, 0}))
	s.status(eg, "gateways", "gw", 1, listeners([3]any{"a", 1, 1}))
	if r := s.report(owned); len(r.Problems) != 0 {
		t.Errorf("problems where there are none: %+v", r.Problems)
	}
	s.status(nginx, "gateways", "gw", 1, listeners([3]any{"a", 1, 9}))
	s.status(nginx, "gateways", "other", 1, listeners([3]any{"a", 1, 8}))
	s.status(nginx, "gateways", "other", 1, listeners([3]any{"a", 1, 9}))
	r := s.report(owned)
	p := find(r, Trespass, nginx, egName)
	if p == nil || p.Writes != 1 || p.Objects != 1 {
		t.Fatalf("trespass: %+v", r.Problems)
	}
	if f := p.Finding("s"); f.ID != "s/writes-to-others-gateways" || !strings.Contains(f.Text, "writes the status of Gateways of "+egName) {
		t.Errorf("finding %+v", f)
	}
}

// TestInferredWriterOfAGateway: its status names no controller, but the Gateway
// is somebody's.
func TestInferredWriterOfAGateway(t *testing.T) {
	i := NewInference(Options{Since: begin, ControllerOf: func(_, name string) (string, bool) { return egName, name == "gw" }})
	for n, name := range []string{"gw", "gw", "unknown"} {
		status, err := json.Marshal(listeners([3]any{"a", 1, n}))
		if err != nil {
			t.Fatal(err)
		}
		e := version(t, name, 10+n, 1, false)
		e.Object.Status = status
		var event history.Event[Object] = e
		i.Record("gateways")(event)
	}
	counts := map[string]int{}
	for _, w := range i.Report().Writers {
		counts[w.Name] = w.Total.Writes
	}
	if counts[egName] != 2 || counts["somebody"] != 1 || len(counts) != 2 {
		t.Errorf("writes %v", counts)
	}
	if problems := i.Report().Problems; len(problems) != 0 {
		t.Errorf("problems %+v", problems)
	}
}
