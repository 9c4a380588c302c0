package supervisor

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// A reaper starts processes and collects every child of this process, its
// own and those orphaned to it: the supervisor is process 1 of its namespace.
// That rules out os/exec, whose Wait would race for the same children.
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
	started chan struct{} // wakes the loop when there may be a child again
}

func newReaper() *reaper {
	r := &reaper{waiting: map[int]chan syscall.WaitStatus{}, started: make(chan struct{}, 1)}
	go r.loop()
	return r
}

// A command is a program to start.
type command struct {
	path string
	argv []string // with argv[0]
	env  []string
	log  string // file for both outputs, appended to
}

// start starts a command and returns its pid, and a channel that gets its
// exit once.
func (r *reaper) start(c command) (int, <-chan syscall.WaitStatus, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", c.argv[0], err)
	}
	defer null.Close()
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", c.argv[0], err)
	}
	defer log.Close()
	// Held until the child is known, so that the loop cannot collect it
	// before there is someone to tell.
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(c.path, c.argv, &syscall.ProcAttr{
		Env:   c.env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", c.path, err)
	}
	exit := make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = exit
	select {
	case r.started <- struct{}{}:
	default:
	}
	return pid, exit, nil
}

func (r *reaper) loop() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			<-r.started
		case err == nil:
			r.mu.Lock()
			if exit, ok := r.waiting[pid]; ok {
				exit <- status
				delete(r.waiting, pid)
			}
			r.mu.Unlock()
		}
	}
}

// describe says how a process ended.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
