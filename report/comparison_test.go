package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// field is a run of one scenario with one metric m, whose trials have these
// values by treatment; the plan names the treatments in this order.
func field(metric result.Metric, order []string, values map[string][]float64) (*result.Run, []*result.Trial) {
	var names []string
	for _, name := range order {
		names = append(names, fmt.Sprintf(`{"name":%q}`, name))
	}
	run := &result.Run{
		Plan:            json.RawMessage(`{"implementations":[` + strings.Join(names, ",") + `]}`),
		Scenarios:       map[string]result.Scenario{"s": {Name: "s", Title: "The scenario", Headline: []string{"m"}}},
		Implementations: map[string]result.Implementation{},
	}
	var trials []*result.Trial
	for _, name := range order {
		run.Implementations[name] = result.Implementation{Name: name, Title: strings.ToUpper(name)}
		for i, v := range values[name] {
			m := metric
			m.N = 1
			if math.IsInf(v, 1) {
				m.N, m.Censored, m.Limit = 0, 1, 60
			} else {
				m.Value = &v
			}
			trials = append(trials, &result.Trial{
				ID: fmt.Sprintf("b%d-%s", i+1, name), Implementation: name, Scenario: "s", Block: i + 1, Attempt: 1,
				Outcome: result.OK, Metrics: map[string]result.Metric{"m": m},
			})
		}
	}
	return run, trials
}

// fleet is a run with everything that takes several implementations: one that
// is worse, one that is the same thing twice, one that is far out, and costs.
func fleet() (*result.Run, []*result.Trial) {
	run, trials := field(seconds, []string{"a", "a#2", "b", "c"}, map[string][]float64{
		"a": around(2, 6), "a#2": around(2.02, 6), "b": around(2.3, 6), "c": around(30, 6),
	})
	run.Implementations["a#2"] = run.Implementations["a"]
	used := map[string]float64{"a": 2, "a#2": 2.1, "b": 6.2, "c": 33}
	for _, trial := range trials {
		wobble := 1 + 0.003*float64(trial.Block)
		trial.Metrics["cpu-control-plane"] = result.Value("CPU time, control plane", "s", used[trial.Implementation]*wobble)
		trial.Metrics["memory-peak-control-plane"] = result.Value("Peak memory, control plane", "B", 1e8*(wobble+used[trial.Implementation]/10))
		trial.Metrics["probes"] = result.Count("Probes", 1000)
	}
	return run, trials
}

// around are n values close to a center, none like another.
func around(center float64, n int) []float64 {
	var values []float64
	for i := range n {
		values = append(values, center*(1+0.01*float64(i-n/2)))
	}
	return values
}

var seconds = result.Metric{Title: "Time", Unit: "s", Better: "lower"}

func TestJudgements(t *testing.T) {
	cases := []struct {
		name   string
		better string
		b      []float64
		want   string
	}{
		{"slower where lower is better", "lower", around(3, 6), "worse"},
		{"faster where lower is better", "lower", around(1, 6), "better"},
		{"more where higher is better", "higher", around(3, 6), "better"},
		{"less where higher is better", "higher", around(1, 6), "worse"},
		{"where neither is better", "", around(3, 6), "differs"},
		{"the same", "lower", around(2.001, 6), "~"},
		{"below the resolution", "lower", around(2.2, 6), "~"},
		{"too few", "lower", around(3, 5), "need >= 6, have 5"},
		{"not seen", "lower", []float64{3, 3, math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}, "worse"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			metric := seconds
			metric.Better, metric.Resolution = c.better, 0.5
			v := newView(field(metric, []string{"a", "b"}, map[string][]float64{"a": around(2, 6), "b": c.b}))
			m := v.Sections[0].Comparison.Headline.Metrics[0]
			if got := m.Others[0].Judgement(m.Better); got != c.want {
				t.Errorf("judged %q, want %q: %+v", got, c.want, m.Others[0].Adjusted)
			}
		})
	}
}

func TestEveryFormatHasTheComparison(t *testing.T) {
	run, trials := field(seconds, []string{"b", "a", "c"}, map[string][]float64{
		"a": around(3, 7), "b": around(2, 7), "c": append(around(2.02, 6), math.Inf(1)),
	})
	v := newView(run, trials)
	if got := v.Sections[0].Comparison.Reference.Name; got != "b" {
		t.Errorf("the reference is %s, and b comes first in the plan", got)
	}
	outputs := renderAll(t, result.Document{Run: run, Trials: trials})
	var b bytes.Buffer
	if err := Terminal(&b, run, trials, Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	outputs["terminal"] = b.String()
	want := []string{"Compared with B", "1.50×", "+1.00 s", "0.001", "worse", "~"}
	for format, output := range outputs {
		if format == "json" {
			continue // it has numbers
		}
		output = strings.ReplaceAll(html.UnescapeString(output), `\`, "")
		for _, w := range want {
			if !strings.Contains(output, w) {
				t.Errorf("%s lacks %q", format, w)
			}
		}
	}
	var doc document
	if err := json.Unmarshal([]byte(outputs["json"]), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Comparisons) != 2 || len(doc.Trials) != len(trials) {
		t.Fatalf("%d comparisons, %d trials", len(doc.Comparisons), len(doc.Trials))
	}
	worse, like := doc.Comparisons[0], doc.Comparisons[1]
	if worse.Judgement != "worse" || worse.Verdict != "shown" || worse.Reference != "b" || worse.N != [2]int{7, 7} || worse.Family != 2 || !(math.Abs(*worse.Ratio.Center-1.5) < 0.01) {
		t.Errorf("got %+v", worse)
	}
	if like.Judgement != "~" || like.Shift == nil || *like.P < 0.05 || *like.AdjustedP < *like.P {
		t.Errorf("got %+v", like)
	}
}

func TestTheSameTwiceIsTheNoiseFloor(t *testing.T) {
	order := []string{"a", "a#2", "b"}
	run, trials := field(seconds, order, map[string][]float64{"a": around(2, 6), "a#2": around(2.01, 6), "b": around(3, 6)})
	run.Implementations["a#2"] = run.Implementations["a"]
	v := newView(run, trials)
	m := v.Sections[0].Comparison.Headline.Metrics[0]
	var control, other comparedArm
	for _, o := range m.Others {
		if o.Control {
			control = o
		} else {
			other = o
		}
	}
	if control.Treatment.Title != "A (again)" || control.Treatment.Again != "a" || other.Treatment.Name != "b" {
		t.Fatalf("control %+v, other %+v", control.Treatment, other.Treatment)
	}
	if n := v.Sections[0].Comparison.Headline.Tests; n != 1 || control.Adjusted.P != control.Raw.P {
		t.Errorf("%d tests: a control is none", n)
	}
	rows := v.Sections[0].Compared().Rows
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[1] == "A (again)" && row[6] == "noise floor\n~" }) {
		t.Errorf("rows %q", rows)
	}
	if text := strings.Join(v.Certainty, "\n"); !strings.Contains(text, "Noise floor of s: A was measured as two implementations.") || strings.Contains(text, "differs from itself") {
		t.Errorf("certainty: %s", text)
	}
	run, trials = field(seconds, order, map[string][]float64{"a": around(2, 6), "a#2": around(2.8, 6), "b": around(3, 6)})
	run.Implementations["a#2"] = run.Implementations["a"]
	if text := strings.Join(newView(run, trials).Certainty, "\n"); !strings.Contains(text, "It differs from itself in 1 of 1 headline metrics and costs (Time)") {
		t.Errorf("certainty: %s", text)
	}
}

func TestNothingToCompare(t *testing.T) {
	for name, values := range map[string]map[string][]float64{
		"one implementation":     {"a": around(2, 6)},
		"one trial of each":      {"a": {2}, "b": {3}},
		"one without any number": {"a": around(2, 6), "b": nil},
	} {
		v := newView(field(seconds, []string{"a", "b"}, values))
		if s := v.Sections[0]; s.Comparison != nil || len(s.Compared().Rows)+len(s.ComparedRest().Rows) > 0 {
			t.Errorf("%s: compared %+v", name, s.Comparison)
		}
	}
}

func TestFamiliesSayWhatTheyNeed(t *testing.T) {
	if p := leastP(6); math.Abs(p-2.0/924) > 1e-12 {
		t.Errorf("the least p of six is %v", p)
	}
	arm := comparedArm{Raw: stat.Comparison{A: 6, B: 6}, Adjusted: stat.Comparison{Verdict: stat.NotShown}}
	for tests, want := range map[int]int{0: 0, 1: 0, 23: 0, 24: 7, 85: 7, 86: 8} {
		f := family{Tests: tests, Metrics: []comparedMetric{{Others: []comparedArm{arm}}}}
		if got := f.needed(); got != want {
			t.Errorf("%d tests of six: need %d, want %d", tests, got, want)
		}
	}
}

func TestOutliers(t *testing.T) {
	inf := math.Inf(1)
	cases := []struct {
		name   string
		metric result.Metric
		values map[string][]float64
		want   string
	}{
		{"five times the others", seconds, map[string][]float64{"a": {10.2}, "b": {2}, "c": {1.5}},
			"Time: 10.2 s, 5.1 times the median of the others"},
		{"not five times the others", seconds, map[string][]float64{"a": {9.8}, "b": {2}, "c": {1.5}}, ""},
		{"ten times the best, and of two there are no others", seconds, map[string][]float64{"a": {21}, "b": {2}},
			"Time: 21.0 s, 10.5 times the best, B with 2.00 s"},
		{"nine times the best", seconds, map[string][]float64{"a": {18}, "b": {2}}, ""},
		{"both", seconds, map[string][]float64{"a": {40}, "b": {2}, "c": {1}},
			"Time: 40.0 s, 20.0 times the median of the others, and 40.0 times the best, C with 1.00 s"},
		{"one of its trials is as good as one of theirs", seconds, map[string][]float64{"a": {40, 2, 41}, "b": {2, 2, 2}, "c": {1, 1, 1}}, ""},
		{"never seen", seconds, map[string][]float64{"a": {inf}, "b": {2}},
			"Time: not seen, beyond any multiple of the best, B with 2.00 s"},
		{"too little of what should be much", result.Metric{Title: "Rate", Unit: "1/s", Better: "higher"}, map[string][]float64{"a": {100}, "b": {2000}, "c": {1000}},
			"Rate: 100/s, worse by 10.0 times the median of the others, and 20.0 times the best, B with 2,000/s"},
		{"neither is better", result.Metric{Title: "Probes", Unit: "1"}, map[string][]float64{"a": {100}, "b": {1}}, ""},
		{"below the resolution", result.Metric{Title: "Time", Unit: "s", Better: "lower", Resolution: 1}, map[string][]float64{"a": {0.5}, "b": {0.01}}, ""},
		{"of nothing there is no multiple", seconds, map[string][]float64{"a": {100}, "b": {0}}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := newView(field(c.metric, []string{"a", "b", "c"}, c.values))
			got := ""
			for _, g := range v.Findings {
				for _, f := range g.Items {
					got += g.Treatment.Name + ": " + f.Texts[0] + "\n"
				}
			}
			want := ""
			if c.want != "" {
				want = "a: " + c.want + "\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOutliersHaveTheirEvidence(t *testing.T) {
	run, trials := field(result.Metric{Title: "CPU", Unit: "s"}, []string{"a", "b"},
		map[string][]float64{"a": {30, 31, 32}, "b": {2, 2.1, 2.2}})
	for _, trial := range trials {
		trial.Metrics = map[string]result.Metric{"cpu-control-plane": trial.Metrics["m"]}
	}
	v := newView(run, trials)
	f := v.Findings[0].Items[0]
	if f.ID != "s/cpu-control-plane-outlier" || f.Severity != result.Costly || f.Where() != "over 3 trials, and 3 or more of each other" {
		t.Errorf("got %+v, %s", f, f.Where())
	}
	if text := f.Places[0].Finding.Evidence[0].Text; text != "A: 31.0 s (30.0 · 31.0 · 32.0)\nB: 2.10 s (2.00 · 2.10 · 2.20)" {
		t.Errorf("evidence %q", text)
	}
	for format, output := range renderAll(t, result.Document{Run: run, Trials: trials}) {
		if !strings.Contains(strings.ReplaceAll(output, `\`, ""), "14.8 times the best") {
			t.Errorf("%s lacks the finding", format)
		}
	}
}

// The table of relative costs has the shape that comparisons of gateways are
// published in.
func TestRelativeCost(t *testing.T) {
	run, trials := field(result.Metric{Title: "CPU time", Unit: "s"}, []string{"a", "b", "c"},
		map[string][]float64{"a": {30}, "b": {2}, "c": {500}})
	for _, trial := range trials {
		memory := map[string]float64{"a": 3e8, "b": 1e8, "c": 2e8}[trial.Implementation]
		trial.Metrics = map[string]result.Metric{
			"memory-peak-control-plane": result.Value("Memory", "B", memory),
			"cpu-control-plane":         trial.Metrics["m"],
			"cpu-other-x-data-plane":    result.Value("CPU time of another", "s", 5),
			"network-out-data-plane":    result.Value("Bytes sent", "B", 5),
		}
	}
	got := newView(run, trials).Sections[0].Relative()
	want := [][]string{{"A", "15.0×\n30.0 s", "3.0×\n300 MB"}, {"B", "1.0×\n2.00 s", "1.0×\n100 MB"}, {"C", "250×\n500 s", "2.0×\n200 MB"}}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Error(diff)
	}
	run, trials = field(seconds, []string{"a", "b"}, map[string][]float64{"a": {1}, "b": {2}})
	if g := newView(run, trials).Sections[0].Relative(); len(g.Rows) > 0 {
		t.Errorf("without costs: %v", g.Rows)
	}
}
