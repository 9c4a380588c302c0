package inprocess

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestRouteChange: kinds of change without a fault, and one with faults.
func TestRouteChange(t *testing.T) {
	faults := new(fault.Switch)
	c, _ := begin(t, Options{Faults: faults})
	change := func(set map[string]any) *result.Trial {
		t.Helper()
		trial := measure(t, c, "route-change", "a", set, nil)
		for _, row := range trial.Tables[0].Rows {
			t.Log(strings.Join(row, " | "))
		}
		for _, f := range trial.Findings {
			t.Logf("finding %s: %s\n%s", f.ID, f.Text, f.Evidence[0].Text)
		}
		return trial
	}
	clean := change(map[string]any{"kinds": "none,service,weight-split,header,grant,certificate,endpoint,invalid", "iterations": 1, "rate": 300, "rest": "200ms", "watch": "500ms"})
	for _, f := range clean.Findings { // a busy machine may be slow
		if f.Severity == result.Broken {
			t.Errorf("without a fault: %s", f.ID)
		}
	}
	for name, m := range clean.Metrics {
		if strings.HasPrefix(name, "effect") && (m.Censored > 0 || m.N == 0) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	faults.Set(fault.Faults{ErrorEvery: 50, Propagation: 1500 * time.Millisecond})
	faulty := change(map[string]any{"kinds": "none,service", "iterations": 1, "rate": 300, "rest": "200ms", "watch": "500ms"})
	for _, id := range []string{"errors-without-change", "slow-service"} {
		if !slices.ContainsFunc(faulty.Findings, func(f result.Finding) bool { return f.ID == "route-change/"+id }) {
			t.Errorf("%s was not found", id)
		}
	}
	if m := faulty.Metrics["effect-service"]; m.Min == nil || *m.Min < 1.5 {
		t.Errorf("with a delay of 1.5 s: %+v", m)
	}
}
