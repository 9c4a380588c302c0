package bench

import (
	"testing"

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
		rows = append(rows, recordedRow{Latency: service + 10_000, Service: &service, Delay: &delay})
	}
	rows = append(rows, recordedRow{Latency: 5})
	var got Precise
	got.compare(rows)
	want := Precise{
		Records: 1001, Answered: 1000,
		Latency: Excess{P50: 30e-6, P99: 30e-6, P999: 30e-6, Max: 1030e-6, Within50: 999. / 1001},
		Service: Excess{P50: 20e-6, P99: 20e-6, P999: 20e-6, Max: 1020e-6, Within50: 999. / 1001},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
