package probe

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// sharpen lets this thread wake up on time. By default the kernel may add 50 us
// to every sleep to save power. What a sandbox forbids stays as it was; how
// late probes are is measured anyway.
func sharpen() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// becomeRealtime asks the kernel to run this thread before all ordinary ones,
// which takes a capability (SYS_NICE) or a limit (RTPRIO). It reports whether
// that was granted.
func becomeRealtime() bool {
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

func addProcessor() {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.added == 0 {
		p.without = runtime.GOMAXPROCS(0)
	}
	p.added++
	runtime.GOMAXPROCS(p.without + p.added)
}

func removeProcessor() {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added--
	runtime.GOMAXPROCS(p.without + p.added)
}
