package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/google/go-cmp/cmp"
)

// newTrial is a trial of s with its default parameters, but for those given.
func newTrial(t *testing.T, s *Scenario, set map[string]any) *Trial {
	t.Helper()
	values := Values{}
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
	trial := &Trial{
		RunID: "r", Namespace: "trial", Values: values, Progress: func(string, ...any) {},
		Target:      Target{Treatment: "fake", GatewayClass: "fake", ControllerName: controllerName},
		Result:      &result.Trial{SchemaVersion: result.SchemaVersion, ID: "b01", Scenario: s.Name},
		Attachments: map[string][]byte{},
	}
	trial.Begin()
	return trial
}

const controllerName = "gatemark.test/controller"

// checkShape checks what must hold for every result, whatever it says.
func checkShape(t *testing.T, s *Scenario, r *result.Trial) {
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
	drawable(t, r)
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

// drawable checks that every figure finds its data.
func drawable(t *testing.T, r *result.Trial) {
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

// checkFindings compares the findings' names, without the scenario's.
func checkFindings(t *testing.T, r *result.Trial, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s %s", f.ID[len(r.Scenario)+1:], f.Severity))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s%+v", diff, r.Findings)
	}
}

// finding returns the finding of that name, without the scenario's.
func finding(t *testing.T, r *result.Trial, name string) result.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.ID == r.Scenario+"/"+name {
			return f
		}
	}
	t.Fatalf("there is no finding %s", name)
	return result.Finding{}
}

func gate(t *testing.T, r *result.Trial, name string) result.Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("there is no gate %s among %+v", name, r.Gates)
	return result.Gate{}
}

func TestOutcomeOfAnError(t *testing.T) {
	reason := errors.New("reason")
	for _, c := range []struct {
		err  error
		want result.Outcome
	}{
		{nil, result.OK},
		{reason, result.Invalid}, // what nobody thought of is no evidence
		{Invalid{reason}, result.Invalid},
		{Failed{reason}, result.Failed},
		{fmt.Errorf("after 3 of 9 routes: %w", Failed{reason}), result.Failed},
		{Unsupported{reason}, result.Unsupported},
		{errors.Join(Failed{reason}, Invalid{reason}), result.Failed},
		{context.Canceled, result.Invalid},
	} {
		got, text := Outcome(c.err)
		if got != c.want || (text == "") != (c.err == nil) {
			t.Errorf("%v: %s %q, want %s", c.err, got, text, c.want)
		}
	}
}

func TestValuesComeFromAPlanOrFromJSON(t *testing.T) {
	resolved := Values{"n": 3, "d": "1m30s", "s": "both", "b": true}
	text, err := json.Marshal(resolved)
	if err != nil {
		t.Fatal(err)
	}
	var decoded Values
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	for _, v := range []Values{resolved, decoded} {
		if v.Int("n") != 3 || v.Duration("d") != 90*time.Second || v.String("s") != "both" || !v.Bool("b") {
			t.Errorf("%v reads as %d, %s, %s, %v", v, v.Int("n"), v.Duration("d"), v.String("s"), v.Bool("b"))
		}
	}
}

func TestAGateHoldsUpToItsLimit(t *testing.T) {
	trial := newTrial(t, attachedRoutes, nil)
	for value, want := range map[float64]bool{0: true, 1: true, 1.001: false} {
		trial.Result.Gates = nil
		trial.Gate("g", "text", "1", value, 1)
		if got := gate(t, trial.Result, "g").OK; got != want {
			t.Errorf("value %g, limit 1: ok is %v", value, got)
		}
	}
}
