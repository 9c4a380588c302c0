// Package supervisor is the inside of a local cluster: process 1 of the
// cluster's own PID namespace, in network, mount, IPC and UTS namespaces of
// its own. It brings the components up, keeps them up, forwards the host's
// connections to the API server, and gives out LoadBalancer addresses.
//
// When it ends, however it ends, the kernel ends every process of the cluster
// and drops its interfaces, its firewall rules and its mounts. What is left
// are files and empty cgroups, which the command removes.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
)

// The supervisor's inherited files.
const (
	// ControlFD is its end of the handshake's socket.
	ControlFD = 3
	// ListenerFD is a TCP listener in the host's network namespace.
	ListenerFD = 4
)

// Run is the whole life of a supervisor. It returns when the cluster did not
// come up, or when the process is told to end.
func Run() error {
	if os.Getpid() != 1 {
		return failure.Hint(errors.New("this process is not the first of a PID namespace of its own"),
			"gatemark up starts the supervisor; there is no use in starting it by hand")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	control, listener, err := inherited()
	if err != nil {
		return err
	}
	first, err := control.Receive()
	if errors.Is(err, io.EOF) {
		return nil // the command ended before anything was done
	}
	if err != nil {
		return fmt.Errorf("waiting for settings: %w", err)
	}
	if first.Kind != handshake.Begin || first.Settings == nil {
		return fmt.Errorf("waiting for settings: got %q", first.Kind)
	}
	s := *first.Settings
	ctx, cancel := context.WithCancelCause(context.Background())
	accepted := make(chan struct{})
	go watchCommand(control, cancel, accepted)
	r := newReporter(control)
	go r.loop()
	err = bringUp(ctx, cancel, s, listener, r)
	if err != nil {
		r.failed(s, err)
		if !s.Retain || errors.Is(context.Cause(ctx), errCommandGone) {
			return err
		}
		logf("kept as asked: %v", err)
		waitForSignal(stop)
		return nil
	}
	r.ready()
	select {
	case <-accepted:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	waitForSignal(stop)
	return nil
}

func waitForSignal(stop <-chan os.Signal) { logf("ending: %s", <-stop) }

func inherited() (*handshake.Conn, net.Listener, error) {
	socket, err := net.FileConn(os.NewFile(ControlFD, "control"))
	if err != nil {
		return nil, nil, fmt.Errorf("taking over the control socket: %w", err)
	}
	file := os.NewFile(ListenerFD, "listener")
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, nil, fmt.Errorf("taking over the API server's listener: %w", err)
	}
	// FileConn and FileListener work on copies, which no child inherits.
	syscall.CloseOnExec(ControlFD)
	syscall.CloseOnExec(ListenerFD)
	return handshake.New(socket), listener, nil
}

var errCommandGone = errors.New("the command that made this cluster is gone")

// watchCommand cancels when the command goes away before it has accepted.
func watchCommand(control *handshake.Conn, cancel context.CancelCauseFunc, accepted chan<- struct{}) {
	for {
		m, err := control.Receive()
		if err != nil {
			cancel(errCommandGone)
			return
		}
		if m.Kind == handshake.Accept {
			close(accepted)
			return
		}
	}
}

// newComponents joins the cluster's cgroup with the supervisor itself, and
// returns the components' keeper.
func newComponents(s handshake.Settings, cancel context.CancelCauseFunc) (*components, error) {
	cs := &components{
		dir:        layout.Dir(s.Dir),
		reaper:     newReaper(),
		cgroupRoot: CgroupRoot(s.Name),
		ended:      func(err error) { cancel(err) },
		running:    map[string]*running{},
	}
	if !s.Full {
		return cs, nil
	}
	var err error
	if cs.hierarchies, err = cgroup.Hierarchies(); err != nil {
		return nil, err
	}
	for _, name := range []string{"supervisor", podsCgroup} {
		if err := cs.makeCgroup(name); err != nil {
			return nil, err
		}
	}
	// Everything in a cluster is one cgroup beside single processes of this
	// machine, each of which would weigh as much as all of it.
	for _, group := range []string{CgroupParent, cs.cgroupRoot} {
		if err := cgroup.Weigh(cs.hierarchies, group, clusterShares()); err != nil {
			return nil, err
		}
	}
	// Out of the caller's cgroup, which may end with the caller's session.
	return cs, cgroup.Join(cs.hierarchies, cs.cgroupRoot+"/supervisor", os.Getpid())
}

// logf writes a line to the supervisor's log.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.RFC3339Nano), fmt.Sprintf(format, args...))
}
