package scenario

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatemark/gatemark/result"
)

func TestAMachineThatStarvesItsThreads(t *testing.T) {
	for stalled, ok := range map[time.Duration]bool{0: true, 450 * time.Millisecond: true, 550 * time.Millisecond: false} {
		w := &selfWatch{time.Now().Add(-10 * time.Second), processCPU(), pauses(), make(chan struct{}), make(chan time.Duration, 1)}
		w.stalled <- stalled
		trial := &Trial{Result: &result.Trial{}}
		w.Gates(trial)
		g := trial.Result.Gates[slices.IndexFunc(trial.Result.Gates, func(g result.Gate) bool { return g.Name == "starved" })]
		if want := stalled.Seconds() / 10; math.Abs(g.Value-want) > want/10 || g.OK != ok {
			t.Errorf("stalled for %s of 10 s: %+v", stalled, g)
		}
		if w.Stop() != 0 {
			t.Error("stopped twice, it says something")
		}
	}
}

// In a bubble of its own time, nothing ever comes late.
func TestNothingStallsWhereTimeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := WatchSelf()
		time.Sleep(10 * time.Second)
		if stalled := w.Stop(); stalled != 0 {
			t.Errorf("stalled for %s", stalled)
		}
	})
}

func TestTheLongestPause(t *testing.T) {
	histogram := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: []float64{math.Inf(-1), 0, 0.001, 0.03, math.Inf(1)}}
	}
	for _, c := range []struct {
		name          string
		before, after *metrics.Float64Histogram
		want          float64
	}{
		{"none", histogram(0, 5, 0, 1), histogram(0, 5, 0, 1), 0},
		{"a short one", histogram(0, 5, 0, 1), histogram(0, 6, 0, 1), 0},
		{"a longer one", histogram(0, 5, 0, 1), histogram(0, 6, 2, 1), 0.001},
		{"one of 30 ms or more", histogram(0, 5, 0, 1), histogram(0, 6, 0, 2), 0.03},
	} {
		if got := longestPause(c.before, c.after); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	before := pauses()
	runtime.GC()
	if after := pauses(); sum(after.Counts) <= sum(before.Counts) {
		t.Error("a collection is no pause")
	}
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}
