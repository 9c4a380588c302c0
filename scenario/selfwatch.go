package scenario

import (
	"math"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"
)

// clockLimit is how far the wall clock may step against the monotonic one
// during a trial: a step within it would still mislead comparisons with logs.
const clockLimit = 0.010

// cpuLimit is the share of one core that the runner may use: beyond it, its
// own work delays what it measures.
const cpuLimit = 0.80

// starvedLimit is the share of the time in which a thread like any other may
// have waited for a CPU for stallNoticed and longer: gateways wait as long
// then, and what they are blamed for is the machine's.
const (
	starvedLimit = 0.05
	stallNoticed = 100 * time.Millisecond
	stallStep    = 20 * time.Millisecond
)

// A SelfWatch looks at the runner's own part in what it measures, and at the
// machine's.
type selfWatch struct {
	began time.Time
	cpu   time.Duration
	// pauses are those of the garbage collector before it began.
	pauses *metrics.Float64Histogram
	over   chan struct{}
	// stalled is handed over when it is over.
	stalled chan time.Duration
}

// WatchSelf is ended by gates, or by stop.
func WatchSelf() *selfWatch {
	over, stalled := make(chan struct{}), make(chan time.Duration, 1)
	go func() { stalled <- stalls(over) }()
	return &selfWatch{time.Now(), processCPU(), pauses(), over, stalled}
}

// stalls sleeps a little again and again, and sums up how much longer that took
// than it should.
func stalls(over <-chan struct{}) time.Duration {
	var sum time.Duration
	for {
		began := time.Now()
		select {
		case <-over:
			return sum
		case <-time.After(stallStep):
		}
		if late := time.Since(began) - stallStep; late >= stallNoticed {
			sum += late
		}
	}
}

// Stop ends the watch; it does nothing the second time.
func (w *selfWatch) Stop() time.Duration {
	if w.over == nil {
		return 0
	}
	close(w.over)
	w.over = nil
	return <-w.stalled
}

// Gates adds the runner's own gates to the trial, and what it used.
func (w *selfWatch) Gates(t *Trial) {
	elapsed, stalled := time.Since(w.began), w.Stop()
	w.ClockGate(t)
	share := (processCPU() - w.cpu).Seconds() / elapsed.Seconds()
	t.Gate("starved", "time in which a thread of the runner waited 100 ms or longer for a CPU", "ratio", stalled.Seconds()/elapsed.Seconds(), starvedLimit)
	t.Gate("runner-cpu", "CPU of the runner while it measured, as a share of one core", "ratio", share, cpuLimit)
}

// ClockGate adds the gate of the clock alone: where the answers are no times, a
// machine that is short of CPUs does not change them.
func (w *selfWatch) ClockGate(t *Trial) {
	now := time.Now()
	// Round strips the monotonic reading: the difference of the two is how
	// far the wall clock was set meanwhile.
	step := now.Round(0).Sub(w.began.Round(0)) - now.Sub(w.began)
	t.Gate("clock-step", "the wall clock was set during the trial", "s", math.Abs(step.Seconds()), clockLimit)
}

// pauseLimit is how long the garbage collector may stop the runner: nothing is
// sent meanwhile. On a machine without idle CPUs it stops it for tens of
// milliseconds, which scenarios take off what requests took.
const pauseLimit = 0.100

// PauseGate adds the gate of the garbage collector, for scenarios that ask about
// single requests.
func (w *selfWatch) PauseGate(t *Trial) {
	t.Gate("gc-pause", "longest time for which the garbage collector stopped the runner", "s", longestPause(w.pauses, pauses()), pauseLimit)
}

const pausesName = "/sched/pauses/total/gc:seconds"

func pauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pausesName}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		panic("this Go has no " + pausesName)
	}
	return sample[0].Value.Float64Histogram()
}

// longestPause is the lower bound of the highest bucket that has grown.
func longestPause(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			return math.Max(after.Buckets[i], 0)
		}
	}
	return 0
}

func processCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
