package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCompare: times less the delay, and a request without an answer counts
// among those that are not within the limit.
func TestCompare(t *testing.T) {
	var rows []recordedRow
	for i := range int64(1000) {
		delay, service := 1_000_000+i*1000, 1_000_000+i*1000+20_000
		if i == 999 {
			service += 1_000_000
		}
		rows = append(rows, recordedRow{Due: i, Latency: service + 10_000, Service: &service, Delay: &delay})
	}
	rows = append(rows, recordedRow{Due: 1000, Latency: 5})
	var got Precise
	got.compare(rows, func(due int64) bool { return due < 999 })
	want := Precise{
		Records: 1001, Answered: 1000,
		Latency: Excess{P50: 30e-6, P99: 30e-6, P999: 30e-6, Max: 1030e-6, Within50: 999. / 1001},
		Service: Excess{P50: 20e-6, P99: 20e-6, P999: 20e-6, Max: 1020e-6, Within50: 999. / 1001},
	}
	want.Calm.Records = 999
	want.Calm.Latency = Excess{P50: 30e-6, P99: 30e-6, P999: 30e-6, Max: 30e-6, Within50: 1}
	want.Calm.Service = Excess{P50: 20e-6, P99: 20e-6, P999: 20e-6, Max: 20e-6, Within50: 1}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCalm: an instant is calm if nothing was taken in its stretch and in those
// beside it.
func TestCalm(t *testing.T) {
	begin := time.Unix(0, 0)
	var s stolen
	for i, ticks := range []time.Duration{0, 0, 0, 0, 1, 1, 1, 1} {
		s.at, s.total = append(s.at, begin.Add(time.Duration(i)*time.Second)), append(s.total, ticks*10*time.Millisecond)
	}
	var got []bool
	for i := range 9 {
		got = append(got, s.calm(begin.Add(time.Duration(i)*time.Second-time.Millisecond)))
	}
	if diff := cmp.Diff([]bool{false, false, true, false, false, false, true, false, false}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
