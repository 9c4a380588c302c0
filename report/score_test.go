package report

import (
	"strings"
	"testing"

	"github.com/gatemark/gatemark/result"
)

func TestScore(t *testing.T) {
	run, trials := field(seconds, []string{"a", "b", "c"}, map[string][]float64{"a": {0}, "b": {0}, "c": {0}})
	type use struct{ cpu, memory float64 }
	data := map[string]use{"a": {10, 1e8}, "b": {40, 4e8}}
	control := map[string]use{"a": {20, 2e8}, "b": {10, 1e8}, "c": {5, 1e8}}
	for _, trial := range trials {
		trial.Metrics = map[string]result.Metric{}
		for plane, all := range map[string]map[string]use{"data-plane": data, "control-plane": control} {
			if u, ok := all[trial.Implementation]; ok {
				trial.Metrics["cpu-"+plane] = result.Value("CPU time", "s", u.cpu)
				trial.Metrics["memory-peak-"+plane] = result.Value("Memory", "B", u.memory)
			}
		}
	}
	score := func(weights string) string {
		t.Helper()
		w, err := ParseWeights(weights)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := Score(&b, run, trials, w, Options{Width: 140}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	// a: 0.8 (1 + 1)/2 + 0.2 (0.25 + 0.5)/2; b: 0.8 (0.25 + 0.25)/2 + 0.2 (0.5 + 1)/2.
	for weights, want := range map[string][]string{
		"80/20": {"80 % data plane, 20 % control plane", "no verdict", "A 0.88 1/1.0× data plane 1.00 and 1.00, control plane 0.25 and 0.50",
			"B 0.35 1/2.5× data plane 0.25 and 0.25, control plane 0.50 and 1.00", "C none what its data plane used is not known apart"},
		"0/100": {"A 0.38 1/2.7×", "C 1.00 1/1.0×"},
	} {
		got := score(weights)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", weights, got, w)
			}
		}
	}
	run, trials = field(seconds, []string{"a", "b"}, map[string][]float64{"a": {1}, "b": {2}})
	if got := score("80/20"); !strings.Contains(got, "There is none") {
		t.Errorf("without costs: %q", got)
	}
}

func TestWeights(t *testing.T) {
	for _, bad := range []string{"", "80", "80/30", "120/-20", "a/b", "80/20/0"} {
		if w, err := ParseWeights(bad); err == nil || !strings.Contains(err.Error(), "as in 80/20") {
			t.Errorf("%q gave %+v, %v", bad, w, err)
		}
	}
	if w, err := ParseWeights("80/20"); err != nil || w != (Weights{80, 20}) {
		t.Errorf("%+v, %v", w, err)
	}
}
