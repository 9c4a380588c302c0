package supervisor

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/gatemark/gatemark/cluster/local/layout"
)

// restartDelay is how long a component that ended stays down.
const restartDelay = time.Second

// A component is a program that runs as long as the cluster does.
type component struct {
	name string
	command
}

// A running component's record.
type running struct {
	pid      int
	started  time.Time
	restarts int
}

// components are those that run, each in a cgroup of its own so that what it
// costs can be told apart.
type components struct {
	dir         layout.Dir
	reaper      *reaper
	hierarchies []cgroup.Hierarchy // none where there are no cgroups
	cgroupRoot  string
	// ended gets the error of a component that ends while the cluster comes
	// up. Later it is nil, and the component is started again.
	mu      sync.Mutex
	ended   func(error)
	running map[string]*running
	ready   time.Time
	sysctls map[string]string
}

// start starts a component and watches over it.
func (cs *components) start(c component) error {
	exit, err := cs.launch(c, 0)
	if err != nil {
		return err
	}
	go cs.watch(c, exit)
	return nil
}

func (cs *components) launch(c component, restarts int) (<-chan syscall.WaitStatus, error) {
	if err := cs.makeCgroup(c.name); err != nil {
		return nil, err
	}
	pid, exit, err := cs.reaper.start(c.command)
	if err != nil {
		return nil, err
	}
	if err := cgroup.Join(cs.hierarchies, cs.cgroupRoot+"/"+c.name, pid); err != nil {
		return nil, err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.running[c.name] = &running{pid: pid, started: time.Now(), restarts: restarts}
	return exit, cs.writeStatus()
}

// makeCgroup makes a component's cgroup with its share of the CPUs.
func (cs *components) makeCgroup(name string) error {
	path := cs.cgroupRoot + "/" + name
	if err := cgroup.Make(cs.hierarchies, path); err != nil {
		return err
	}
	if shares, ok := cpuShares(name); ok {
		return cgroup.Weigh(cs.hierarchies, path, shares)
	}
	return nil
}

func (cs *components) watch(c component, exit <-chan syscall.WaitStatus) {
	for restarts := 1; ; restarts++ {
		status := <-exit
		err := &componentError{name: c.name, err: fmt.Errorf("%s ended: %s", c.name, describe(status))}
		cs.mu.Lock()
		ended := cs.ended
		cs.mu.Unlock()
		if ended != nil {
			ended(err)
			return
		}
		logf("%v; starting it again in %s", err, restartDelay)
		time.Sleep(restartDelay)
		var launchErr error
		if exit, launchErr = cs.launch(c, restarts); launchErr != nil {
			logf("%s is down for good: %v", c.name, launchErr)
			return
		}
	}
}

// settled says that the cluster is up: from now on components that end are
// started again.
func (cs *components) settled() error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ended = nil
	cs.ready = time.Now()
	return cs.writeStatus()
}

// run runs a program to its end.
func (cs *components) run(ctx context.Context, c component) error {
	pid, exit, err := cs.reaper.start(c.command)
	if err != nil {
		return err
	}
	select {
	case status := <-exit:
		if status.ExitStatus() != 0 {
			return &componentError{name: c.name, err: fmt.Errorf("%s: %s", c.argv, describe(status))}
		}
		return nil
	case <-ctx.Done():
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return &componentError{name: c.name, err: fmt.Errorf("%s: %w", c.argv, context.Cause(ctx))}
	}
}

// A componentError is about one component: its log says more.
type componentError struct {
	name string
	err  error
}

func (e *componentError) Error() string { return e.err.Error() }
func (e *componentError) Unwrap() error { return e.err }
