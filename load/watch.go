package load

import (
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// Self is what the attacker saw of itself.
type Self struct {
	// BusiestLoop is the share of its CPU that the busiest event loop used.
	BusiestLoop float64 `json:"busiestLoop"`
	// LoopCPU is the processor time of the event loops, in seconds.
	LoopCPU float64 `json:"loopCPU"`
	// GCPauses is how often, and GCPauseSeconds how long, Go's garbage
	// collector has stopped the process.
	GCPauses       int64   `json:"gcPauses"`
	GCPauseSeconds float64 `json:"gcPauseSeconds"`
	// PeakRSS is the most memory that the process has had, in bytes, since it
	// began.
	PeakRSS int64 `json:"peakRSS"`
	// Exhausted counts sockets that could not be had: no port or no
	// descriptor left.
	Exhausted int64 `json:"exhausted"`
	// ClockSteps counts jumps of the real-time clock, by which the kernel notes
	// when answers came.
	ClockSteps int64 `json:"clockSteps,omitempty"`
	// RecordsLost counts records that the recorder did not take in time.
	RecordsLost int64 `json:"recordsLost,omitempty"`
	// Steal is the share of the machine's processor time that the host of a
	// virtual machine gave to others.
	Steal float64 `json:"steal,omitempty"`
}

// A watch looks at the attacker itself.
type watch struct {
	cpu     time.Duration
	gc      debug.GCStats
	machine machineTime
}

func newWatch(*attack) *watch { return &watch{} }

func (w *watch) begin() {
	w.cpu = processCPU()
	w.machine = readMachineTime()
	debug.ReadGCStats(&w.gc)
}

// end returns the process's CPU time since begin, and the rest.
func (w *watch) end(a *attack) (cpuSeconds float64, s Self) {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	s.GCPauses = gc.NumGC - w.gc.NumGC
	s.GCPauseSeconds = (gc.PauseTotal - w.gc.PauseTotal).Seconds()
	s.PeakRSS = peakRSS()
	s.Steal = w.machine.stolen(readMachineTime())
	for _, l := range a.loops {
		s.LoopCPU += l.cpu.Seconds()
		s.Exhausted += l.exhausted
		s.ClockSteps = max(s.ClockSteps, l.wall.steps)
		if lasted := time.Duration(l.ended - l.begin); lasted > 0 {
			s.BusiestLoop = max(s.BusiestLoop, l.cpu.Seconds()/lasted.Seconds())
		}
		if l.records != nil {
			s.RecordsLost += l.records.lost
		}
	}
	return (processCPU() - w.cpu).Seconds(), s
}

func processUsage() unix.Rusage {
	var usage unix.Rusage
	// It cannot fail for the calling process.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return usage
}

func processCPU() time.Duration {
	u := processUsage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS is in bytes; the kernel counts in KiB.
func peakRSS() int64 { return processUsage().Maxrss << 10 }

// threadCPU is the processor time that this thread has used.
func threadCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return 0 // it cannot fail for the calling thread
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
