package scenario

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// clockLimit is how far the wall clock may step against the monotonic one
// during a trial: a step within it would still mislead comparisons with logs.
const clockLimit = 0.010

// cpuLimit is the share of one core that the runner may use: beyond it, its
// own work delays what it measures.
const cpuLimit = 0.80

// A selfWatch looks at the runner's own part in what it measures.
type selfWatch struct {
	began time.Time
	cpu   time.Duration
}

func startSelfWatch() *selfWatch { return &selfWatch{time.Now(), processCPU()} }

// gates adds the runner's own gates to the trial, and what it used.
func (w *selfWatch) gates(t *Trial) {
	now := time.Now()
	elapsed := now.Sub(w.began)
	// Round strips the monotonic reading: the difference of the two is how
	// far the wall clock was set meanwhile.
	step := now.Round(0).Sub(w.began.Round(0)) - elapsed
	t.Gate("clock-step", "the wall clock was set during the trial", "s", math.Abs(step.Seconds()), clockLimit)
	share := (processCPU() - w.cpu).Seconds() / elapsed.Seconds()
	t.Gate("runner-cpu", "CPU of the runner while it measured, as a share of one core", "ratio", share, cpuLimit)
}

func processCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
