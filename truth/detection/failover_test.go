package detection

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/fault"
)

// TestKnownFailover holds what backend-failover says against what the replica
// did, by policies that are known: how many requests went to the backend that
// failed, exactly, and within 50 ms when no more came and when some came again.
func TestKnownFailover(t *testing.T) {
	if !whole() {
		t.Skip("part of make test-instrument: set GATEMARK_INSTRUMENT=whole")
	}
	b := open(t, 1)
	// Five failures, and 10 s without requests: the second time falls into the
	// same outage.
	evicts := fault.Faults{EjectFor: 10 * time.Second, EjectAfter: 5}
	shared := evicts
	shared.EjectShared = true
	known := map[string]any{"period": "12s", "rate": 400, "paths": 1}
	for _, c := range []struct {
		name   string
		faults fault.Faults
		set    map[string]any
		// failing is how many requests must come to the backend; 0: as many as the
		// replica says.
		failing int
	}{
		{"evicted after 5 for 10 s, by all routes", shared, known, 10},
		{"evicted after 5 for 10 s, by each of 4 routes", evicts, known, 40},
		{"retries that mask", fault.Faults{MaskingRetries: 2}, nil, 0},
		{"none", fault.Faults{}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			tried, err := b.Try(ctx, Try{Scenario: "backend-failover", Faults: c.faults, Parameters: failing("503", c.set)})
			if err != nil {
				t.Fatal(err)
			}
			if tried.Outcome != result.OK {
				t.Fatalf("%s: %s, after %q", tried.Outcome, tried.Reason, tried.Invalid)
			}
			value := func(name string) int { return int(columnOf(t, tried, "outages", name).Values[0]) }
			got, errors := value("failing"), value("errors")
			t.Logf("%d requests to the backend that failed, %d errors of users", got, errors)
			if c.failing > 0 && got != c.failing {
				t.Errorf("%d requests to the backend that failed, want %d", got, c.failing)
			}
			masked := int(tried.Replicas[0].Injected()["maskingRetries"])
			if got != errors+masked {
				t.Errorf("%d requests failed at the backend, %d at users, and %d were sent again", got, errors, masked)
			}
			if c.faults.MaskingRetries > 0 && (masked == 0 || errors > 0) {
				t.Errorf("%d sent again, %d errors of users", masked, errors)
			}
			if c.faults.EjectFor > 0 {
				agreeOnEviction(t, tried)
			}
		})
	}
}

// agreeOnEviction holds the two times against the replica's.
func agreeOnEviction(t *testing.T, tried *Tried) {
	t.Helper()
	outage := func(name string) float64 { return columnOf(t, tried, "outages", name).Values[0] }
	from, until := tried.Began.Add(seconds(outage("from"))), tried.Began.Add(seconds(outage("until")))
	// The first of each route, and when the first of the last ones was over.
	all := tried.Replicas[0].Ejections()
	first := slices.DeleteFunc(slices.Clone(all), func(e dataplane.Ejection) bool { return e.From.After(from.Add(5 * time.Second)) })
	last := slices.DeleteFunc(slices.Clone(all), func(e dataplane.Ejection) bool { return e.Until.Before(until) })
	if len(first) == 0 || len(last) == 0 {
		t.Fatalf("ejections %v", all)
	}
	shed := slices.MaxFunc(first, func(a, b dataplane.Ejection) int { return a.From.Compare(b.From) }).From.Sub(from)
	back := slices.MinFunc(last, func(a, b dataplane.Ejection) int { return a.Until.Compare(b.Until) }).Until.Sub(until)
	for _, c := range []struct {
		what        string
		said, truth float64
	}{{"left alone", outage("shed"), shed.Seconds()}, {"used again", outage("return"), back.Seconds()}} {
		t.Logf("%s after %.0f ms, in truth after %.0f ms", c.what, 1e3*c.said, 1e3*c.truth)
		if !(math.Abs(c.said-c.truth) <= 0.050) {
			t.Errorf("%s after %.0f ms, in truth after %.0f ms, want within 50 ms", c.what, 1e3*c.said, 1e3*c.truth)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
