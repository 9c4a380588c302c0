package stage

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// A Thread is one thread of the operating system. What it starts inherits its
// network namespace and its core, and is killed when it ends.
type Thread struct {
	work chan func()
	// namespace is a descriptor of the thread's network namespace.
	namespace int
	// started is what the thread has started.
	mu      sync.Mutex
	started []*Process
}

// NewThread makes a thread and runs setup on it. The thread is not used for
// anything but Do.
func NewThread(setup func() error) (*Thread, error) {
	t := &Thread{work: make(chan func())}
	ready := make(chan error)
	go func() {
		// It is never unlocked, so the thread ends with this function and its
		// namespace and core come to nobody else.
		runtime.LockOSThread()
		err := setup()
		if err == nil {
			t.namespace, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		ready <- err
		if err != nil {
			return
		}
		for f := range t.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return t, nil
}

// Do runs f on the thread.
func (t *Thread) Do(f func() error) error {
	done := make(chan error)
	t.work <- func() { done <- f() }
	return <-done
}

// Close kills what the thread has started, and ends it. The kernel would do the
// former, but for a thread that happens to be the process's first: Go's runtime
// keeps that one.
func (t *Thread) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []error
	for _, p := range t.started {
		if !p.over() {
			all = append(all, p.Kill())
		}
	}
	close(t.work)
	return errors.Join(append(all, unix.Close(t.namespace))...)
}

// pin keeps the calling thread on one core.
func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("keep a thread on core %d: %w", cpu, err)
	}
	return nil
}
