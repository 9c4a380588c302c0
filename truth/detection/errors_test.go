package detection

import (
	"context"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestKnownErrors: every error that the replicas made is counted, and no other.
func TestKnownErrors(t *testing.T) {
	b := open(t, 2)
	errors := func(t *Tried) int64 { return int64(*t.Metrics["errors"].Value) }
	wrong := func(routes, listeners int) func(*Tried) int64 {
		return func(t *Tried) int64 {
			return int64(routes*listeners*len(t.Replicas)) - int64(*t.Metrics["answers-right"].Value)
		}
	}
	for _, c := range []struct {
		name    string
		try     Try
		counted func(*Tried) int64
	}{
		{"errorsOnChange", Try{Scenario: "route-propagation", Parameters: quick(10), Faults: fault.Faults{ErrorsOnChange: 100 * time.Millisecond}}, errors},
		{"errorEvery", Try{Scenario: "attached-routes", Parameters: counts(40), Faults: fault.Faults{ErrorEvery: 7}}, wrong(40, 2)},
		{"misroute", Try{Scenario: "attached-routes", Parameters: counts(40), Faults: fault.Faults{Misroute: 3}}, wrong(40, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "misroute" && !whole() {
				t.Skip("part of make test-instrument: set GATEMARK_INSTRUMENT=whole")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			tried, err := b.Try(ctx, c.try)
			if err != nil {
				t.Fatal(err)
			}
			if tried.Outcome != result.OK {
				t.Fatalf("%s: %s, after %q", tried.Outcome, tried.Reason, tried.Invalid)
			}
			made := int64(0)
			for _, r := range tried.Replicas {
				made += r.Injected()[c.name]
			}
			counted := c.counted(tried)
			t.Logf("the replicas made %d, the trial counted %d", made, counted)
			if made == 0 || counted != made {
				t.Errorf("the replicas made %d, the trial counted %d", made, counted)
			}
		})
	}
}
