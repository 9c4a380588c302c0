package scenario

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatemark/gatemark/result"
)

func TestAMachineThatStarvesItsThreads(t *testing.T) {
	for stalled, ok := range map[time.Duration]bool{0: true, 450 * time.Millisecond: true, 550 * time.Millisecond: false} {
		w := &selfWatch{time.Now().Add(-10 * time.Second), processCPU(), make(chan struct{}), make(chan time.Duration, 1)}
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
