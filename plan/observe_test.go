package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestObserve(t *testing.T) {
	for _, c := range []struct {
		asked, want    Observe
		usage, metrics time.Duration
		problems       int
	}{
		{Observe{}, Observe{"1s", "5s"}, time.Second, 5 * time.Second, 0},
		{Observe{"100ms", Off}, Observe{"100ms", Off}, 100 * time.Millisecond, 0, 0},
		{Observe{Off, "60s"}, Observe{Off, "1m0s"}, 0, time.Minute, 0},
		{Observe{"often", "99ms"}, Observe{"often", "99ms"}, 0, 99 * time.Millisecond, 2},
		{Observe{"99ms", "2h"}, Observe{"99ms", "2h"}, 99 * time.Millisecond, 2 * time.Hour, 2},
	} {
		r, got := &resolver{}, c.asked
		r.observe(&got)
		if diff := cmp.Diff(c.want, got); diff != "" || len(r.problems) != c.problems {
			t.Errorf("%+v: problems %v (-want +got):\n%s", c.asked, r.problems, diff)
		}
		if got.UsageEvery() != c.usage || got.MetricsEvery() != c.metrics {
			t.Errorf("%+v: every %v and %v", c.asked, got.UsageEvery(), got.MetricsEvery())
		}
	}
}
