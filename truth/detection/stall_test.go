package detection

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestKnownStall holds what elastic-latency says of a stall against what the
// replica did: 900 ms in which it serves nothing, when endpoints change. The
// height within 2 %, the length within 20 ms. The rate is low: what has waited is
// answered one after the other then, and that takes its time, too.
func TestKnownStall(t *testing.T) {
	if !whole() {
		t.Skip("part of make test-instrument: set GATEMARK_INSTRUMENT=whole")
	}
	const stall = 900 * time.Millisecond
	b := open(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tried, err := b.Try(ctx, Try{Scenario: "elastic-latency", Faults: fault.Faults{Stall: stall},
		Parameters: elastic("scale", map[string]any{"rates": "100", "connections": 128})})
	if err != nil {
		t.Fatal(err)
	}
	if tried.Outcome != result.OK {
		t.Fatalf("%s: %s, after %q", tried.Outcome, tried.Reason, tried.Invalid)
	}
	heights, lengths := columnOf(t, tried, "events", "spike-height").Values, columnOf(t, tried, "events", "spike-length").Values
	if len(heights) != 4 {
		t.Fatalf("%d events", len(heights))
	}
	for i, height := range heights {
		t.Logf("event %d: %.1f ms high, %.1f ms long", i+1, 1e3*height, 1e3*lengths[i])
		if math.Abs(height-stall.Seconds()) > 0.02*stall.Seconds() {
			t.Errorf("event %d: a spike of %.1f ms, want %s within 2 %%", i+1, 1e3*height, stall)
		}
		if math.Abs(lengths[i]-stall.Seconds()) > 0.020 {
			t.Errorf("event %d: a spike for %.1f ms, want %s within 20 ms", i+1, 1e3*lengths[i], stall)
		}
	}
}
