package poll

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// slice is how long a sharpened thread wants to run at a time. It is the
// shortest that the kernel allows.
const slice = 100 * time.Microsecond

// Sharpen lets this thread wake up on time. By default the kernel may add 50 us
// to every sleep to save power, and lets whoever runs finish a slice of
// milliseconds first. A thread that asks for a shorter slice (sched_setattr
// for ordinary threads, since Linux 6.12) comes before it, through the
// hierarchy of cgroups too; it gets no more of the processor for that. What a
// sandbox or an older kernel refuses stays as it was; how late probes are is
// measured anyway.
func Sharpen() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(slice)}
	for _, attr.Nice = range []int32{-20, 0} { // below 0 takes CAP_SYS_NICE
		if unix.SchedSetAttr(0, &attr, 0) == nil {
			return
		}
	}
}

// BecomeRealtime asks the kernel to run this thread before all ordinary ones,
// which takes a capability (SYS_NICE) or a limit (RTPRIO). It reports whether
// that was granted.
func BecomeRealtime() bool {
	return unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, // for this thread alone
	}, 0) == nil
}

// A real-time thread that must wait for one of Go's processors is not one: they
// are held by threads that the kernel has not got round to running. So it keeps
// its own while it sleeps, and one is added for it, so that the rest of the
// process loses none.
var processors struct {
	mu             sync.Mutex
	added, without int
}

// AddProcessor adds a processor for a thread that keeps its own.
func AddProcessor() {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.added == 0 {
		p.without = runtime.GOMAXPROCS(0)
	}
	p.added++
	runtime.GOMAXPROCS(p.without + p.added)
}

// RemoveProcessor undoes AddProcessor.
func RemoveProcessor() {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added--
	runtime.GOMAXPROCS(p.without + p.added)
}
