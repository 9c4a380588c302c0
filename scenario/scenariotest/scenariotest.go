// Package scenariotest holds what tests of scenarios share: trials without a
// cluster, and looks at what they leave.
package scenariotest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Trial is a trial of s with its default parameters, but for those given.
func Trial(t testing.TB, s *scenario.Scenario, set map[string]any) *scenario.Trial {
	t.Helper()
	values := scenario.Values{}
	for _, p := range s.Parameters {
		values[p.Name] = p.Default
		if d, ok := p.Default.(time.Duration); ok { // as plan.Resolve has it
			values[p.Name] = d.String()
		}
	}
	for name, v := range set {
		if _, ok := values[name]; !ok {
			t.Fatalf("%s has no parameter %s", s.Name, name)
		}
		values[name] = v
	}
	trial := &scenario.Trial{
		RunID: "r", Namespace: "trial", Values: values, Progress: func(string, ...any) {},
		Target:      scenario.Target{Treatment: "fake", GatewayClass: "fake", ControllerName: controllerName},
		Result:      &result.Trial{SchemaVersion: result.SchemaVersion, ID: "b01", Scenario: s.Name},
		Attachments: map[string][]byte{},
	}
	trial.Begin()
	return trial
}

const controllerName = "gatemark.test/controller"

// CheckShape checks what must hold for every result, whatever it says.
func CheckShape(t *testing.T, s *scenario.Scenario, r *result.Trial) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("the result cannot be written: %v", err)
	}
	for _, name := range s.Headline {
		if _, ok := r.Metrics[name]; !ok {
			t.Errorf("headline metric %s is not among %v", name, slices.Sorted(maps.Keys(r.Metrics)))
		}
	}
	for name, m := range r.Metrics {
		if m.Title == "" || m.Unit == "" {
			t.Errorf("metric %s has title %q and unit %q", name, m.Title, m.Unit)
		}
	}
	CheckFigures(t, r)
	for _, f := range r.Figures {
		for _, name := range f.Events {
			if !slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Name == name }) {
				t.Errorf("figure %s draws event %q, which the trial does not have", f.Name, name)
			}
		}
	}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("table %s: row %q for columns %q", table.Name, row, table.Columns)
			}
		}
	}
	for _, f := range r.Findings {
		if f.Text == "" || len(f.Evidence) == 0 || f.Evidence[0].Text == "" {
			t.Errorf("finding %s has no text or no evidence: %+v", f.ID, f)
		}
	}
}

// CheckFigures checks that every figure finds its data.
func CheckFigures(t *testing.T, r *result.Trial) {
	t.Helper()
	series := map[string]result.Series{}
	for _, one := range r.Series {
		if err := one.Validate(); err != nil {
			t.Error(err)
		}
		if _, twice := series[one.Name]; twice {
			t.Errorf("two series are called %s", one.Name)
		}
		series[one.Name] = one
	}
	for _, f := range r.Figures {
		checkFigure(t, f, series)
	}
}

func checkFigure(t *testing.T, f result.Figure, series map[string]result.Series) {
	t.Helper()
	if !slices.Contains([]string{"line", "step", "scatter", "ecdf"}, f.Kind) {
		t.Errorf("figure %s is of kind %q", f.Name, f.Kind)
	}
	for _, l := range f.Lines {
		columns := []string{l.X}
		if f.Kind != "ecdf" {
			columns = append(columns, l.Y)
		}
		for _, name := range columns {
			if c, ok := series[l.Series].Column(name); !ok || c.Labels != nil {
				t.Errorf("figure %s, line %q: series %q has no column %q of numbers", f.Name, l.Title, l.Series, name)
			}
		}
	}
}

// CheckFindings compares the findings' names, without the scenario's.
func CheckFindings(t *testing.T, r *result.Trial, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s %s", f.ID[len(r.Scenario)+1:], f.Severity))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s%+v", diff, r.Findings)
	}
}

// Finding returns the finding of that name, without the scenario's.
func Finding(t *testing.T, r *result.Trial, name string) result.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.ID == r.Scenario+"/"+name {
			return f
		}
	}
	t.Fatalf("there is no finding %s", name)
	return result.Finding{}
}

// Gate returns the gate of that name.
func Gate(t *testing.T, r *result.Trial, name string) result.Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("there is no gate %s among %+v", name, r.Gates)
	return result.Gate{}
}

// Typed returns the first object of a kind in its own type.
func Typed[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
				t.Fatal(err)
			}
			return into
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// Replica is a data-plane pod that answers with handler.
func Replica(t *testing.T, name string, handler http.HandlerFunc) kube.Replica {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	address := netip.MustParseAddrPort(s.Listener.Addr().String())
	return kube.Replica{Pod: name, IP: address.Addr(), Port: address.Port(), Serving: true}
}
