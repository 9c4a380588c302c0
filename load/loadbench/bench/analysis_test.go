package bench

import (
	"testing"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/known"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const ms = int64(time.Millisecond)

// even makes n requests, step apart, each answered after took.
func even(n int, step, took int64) []known.Record {
	var records []known.Record
	const begun = 1_700_000_000_000_000_000
	for i := range int64(n) {
		at := begun + i*step
		records = append(records, known.Record{Arrived: at, Read: at + 1000, Written: at + took})
	}
	return records
}

func TestTruthOfAnEvenRun(t *testing.T) {
	records := even(1000, ms, 2*ms)
	records[3].Outcome = known.Failed
	records[5].Outcome, records[7].Outcome = known.Reset, known.Open
	records[7].Written = 0
	all := map[string]float64{"p50": 0.002, "p99": 0.002, "p99.9": 0.002, "max": 0.002}
	want := Truth{Requests: 1000, Failed: 1, Reset: 1, Open: 1, Sent: all, Due: all, Punctual: 1, Late: 0, Rate: 1000}
	if diff := cmp.Diff(want, truthOf(records, 1000, time.Second), cmpopts.EquateApprox(1e-6, 1e-6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAStallIsSeenFromDue: a server is stopped for 500 ms. An open loop sends
// on, and each request's wait is seen on both clocks. A loop that waits sends
// nothing: its one request waited long, and only the schedule knows of the
// others.
func TestAStallIsSeenFromDue(t *testing.T) {
	open := even(2000, ms, ms)
	base := open[0].Arrived
	for i := 1000; i < 1500; i++ {
		open[i].Read, open[i].Written = base+1500*ms, base+1500*ms
	}
	got := truthOf(open, 1000, 2*time.Second)
	want := map[string]float64{"p50": 0.001, "p99": 0.48, "p99.9": 0.498, "max": 0.5}
	if diff := cmp.Diff(want, got.Sent, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("open, since arrival (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Due, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("open, since due (-want +got):\n%s", diff)
	}

	waiting := even(2000, ms, ms)
	for i := range waiting {
		switch {
		case i == 1000:
			waiting[i].Written += 499 * ms
		case i > 1000:
			waiting[i].Arrived += 499 * ms
			waiting[i].Written += 499 * ms
		}
	}
	got = truthOf(waiting[:1501], 1000, 2*time.Second)
	if got.NotSent != 499 {
		t.Errorf("%d were never sent", got.NotSent)
	}
	if got.Sent["p99.9"] != 0.001 || got.Sent["max"] != 0.5 {
		t.Errorf("waiting, since arrival: %v", got.Sent)
	}
	if got.Due["p50"] != 0.001 || got.Due["p99"] != never {
		t.Errorf("waiting, since due: %v", got.Due)
	}
}

// TestPunctuality: late is late, and what was never sent is late too.
func TestPunctuality(t *testing.T) {
	records := even(1000, ms, ms)
	for i := 500; i < 520; i++ {
		records[i].Arrived += 5 * ms
	}
	got := truthOf(records, 1000, time.Second)
	// Their order is that of arrival, so a few others change places with them.
	if got.Punctual < 0.97 || got.Punctual > 0.98 || got.Late < 0.0049 || got.Late > 0.0051 {
		t.Errorf("20 of 1000 were 5 ms late: %v, %v", got.Punctual, got.Late)
	}
	got = truthOf(even(500, ms, ms), 1000, time.Second)
	if got.Punctual != 0.5 || got.Late != never || got.NotSent != 500 {
		t.Errorf("half was never sent: %v, %v, %v", got.Punctual, got.Late, got.NotSent)
	}
	// Arrivals in bursts of ten are not even.
	bursts := even(1000, ms, ms)
	for i := range bursts {
		bursts[i].Arrived = bursts[i/10*10].Arrived
	}
	if got := truthOf(bursts, 1000, time.Second); got.Punctual > 0.25 {
		t.Errorf("bursts count as punctual: %v", got.Punctual)
	}
}

func TestTruthOfNothing(t *testing.T) {
	got := truthOf(nil, 1000, time.Second)
	if got.NotSent != 1000 || got.Punctual != 0 || got.Due["p50"] != never || got.Sent != nil {
		t.Errorf("%+v", got)
	}
}
