package load

import "testing"

// TestOneHistogramStandsForBoth until a service time is not the latency.
func TestOneHistogramStandsForBoth(t *testing.T) {
	c := &tally{}
	for range 2 { // a tally is used again
		c.reset(0, 1, 0)
		c.record(OK, 5, 5)
		c.record(OK, 7, 7)
		if c.services(OK) != c.latency[OK] {
			t.Fatal("equal times are counted twice")
		}
		c.record(OK, 900, 4)
		c.record(OK, 7, 7)
		for name, w := range map[string]struct {
			h         *Histogram
			low, high int64
		}{"latency": {c.latency[OK], 5, 900}, "service time": {c.services(OK), 4, 7}} {
			if n, low, high := w.h.Count(), w.h.Quantile(0), w.h.Quantile(1); n != 4 || low != w.low || high != w.high {
				t.Errorf("%s: %d values from %d to %d, want 4 from %d to %d", name, n, low, high, w.low, w.high)
			}
		}
	}
}
