package detection

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestKnownStall holds what elastic-latency says of a stall against what the
// replica says: 900 ms in which it serves nothing, when endpoints change. The
// height within 2 %, the length within 20 ms. What has waited is answered one
// after the other then, which takes its time, too, and is in both.
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
	stalls := merged(tried.Replicas[0].Stalls())
	if len(heights) != 4 || len(stalls) < len(heights) {
		t.Fatalf("%d events, stalls %+v", len(heights), stalls)
	}
	stalls = stalls[len(stalls)-len(heights):] // there may be some before the first event
	for i, height := range heights {
		longest, all := stalls[i].Longest, stalls[i].Last.Sub(stalls[i].First)
		t.Logf("event %d: %.1f ms high, %.1f ms long; in truth %.1f and %.1f ms", i+1, 1e3*height, 1e3*lengths[i], 1e3*longest.Seconds(), 1e3*all.Seconds())
		if math.Abs(height-longest.Seconds()) > 0.02*longest.Seconds() {
			t.Errorf("event %d: a spike of %.1f ms, want %s within 2 %%", i+1, 1e3*height, longest)
		}
		if math.Abs(lengths[i]-all.Seconds()) > 0.020 {
			t.Errorf("event %d: a spike for %.1f ms, want %s within 20 ms", i+1, 1e3*lengths[i], all)
		}
		if math.Abs((longest - stall).Seconds()) > 0.1*stall.Seconds() {
			t.Errorf("event %d: the replica let requests wait for %s, and was to do so for %s", i+1, longest, stall)
		}
	}
}

// merged makes one of stalls that overlap: each change of an endpoint begins one.
func merged(all []dataplane.Stall) []dataplane.Stall {
	var out []dataplane.Stall
	for _, s := range all {
		if n := len(out); n > 0 && s.First.Before(out[n-1].Last) {
			last := &out[n-1]
			last.Longest = max(last.Longest, s.Longest)
			if s.Last.After(last.Last) {
				last.Last = s.Last
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
