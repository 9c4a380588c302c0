package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/gatemark/gatemark/cluster/local/binaries"
	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"golang.org/x/sys/unix"
)

// SupervisorCommand is the hidden command of the gatemark executable that
// runs supervisor.Run.
const SupervisorCommand = "supervise-cluster"

// Up makes a cluster, or returns the one that is there. What is left of one
// that has ended is removed first. After a failure nothing is left, unless
// Retain is set.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	dir := layout.Of(o.StateDir, o.Name)
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c, err := existing(o, dir); err != nil || c != nil {
		return c, err
	}
	if err := checkMachine(o); err != nil {
		return nil, err
	}
	if err := binaries.Ensure(ctx, o.NodeDir, o.Progress); err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	if err := c.remove(ctx); err != nil {
		return nil, fmt.Errorf("removing what is left of an earlier cluster: %w", err)
	}
	if err := c.start(ctx, o); err != nil {
		if o.Retain {
			return nil, failure.Hint(err, fmt.Sprintf("kept as asked: logs are in %s; remove it with: gatemark down --name %s", dir, o.Name))
		}
		// Also when ctx has ended: then, above all.
		return nil, errors.Join(err, c.remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// existing returns the cluster that is up already, or nil.
func existing(o Options, dir layout.Dir) (*Cluster, error) {
	r, ok, err := readRecord(dir.Process())
	if err != nil || !ok {
		return nil, err
	}
	alive, err := r.alive()
	if err != nil || !alive {
		return nil, err
	}
	c := &Cluster{dir: dir, record: r}
	if r.Mode != o.Mode {
		return nil, failure.Hint(fmt.Errorf("cluster %s is there already, in mode %s", r.Name, r.Mode),
			fmt.Sprintf("gatemark down --name %s, or choose another --name", r.Name))
	}
	ready, err := c.ready()
	if err != nil {
		return nil, err
	}
	if !ready {
		return nil, failure.Hint(fmt.Errorf("cluster %s is there, but did not come up", r.Name), fmt.Sprintf("gatemark down --name %s", r.Name))
	}
	return c, nil
}

// start starts the supervisor, records it, tells it to begin, and shows what
// it reports until the cluster is ready.
func (c *Cluster) start(ctx context.Context, o Options) error {
	if err := c.dir.Make(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	defer listener.Close()
	supervisor, control, err := spawn(o, c.dir, listener.(*net.TCPListener))
	if err != nil {
		return err
	}
	// To the supervisor the socket is this process: until it is accepted, it
	// ends when the socket is closed. That of a bound cluster stays open.
	defer func() {
		if c.control == nil {
			control.Close()
		}
	}()
	// Ends the wait below when ctx does; the supervisor ends by itself then.
	defer context.AfterFunc(ctx, func() { control.Close() })()
	identity, err := identify(supervisor.Process.Pid)
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	c.record = record{process: identity, Name: o.Name, Mode: o.Mode, NodeDir: o.NodeDir, Port: port, Started: time.Now()}
	if err := c.record.write(c.dir.Process()); err != nil {
		return err
	}
	// Collect it whenever it ends, which may be long after.
	go supervisor.Wait()
	settings := handshake.Settings{
		Name: o.Name, Dir: string(c.dir), NodeDir: o.NodeDir, StateDir: o.StateDir,
		Full: o.Mode == Full, Port: port, Retain: o.Retain,
	}
	if err := control.Send(handshake.Message{Kind: handshake.Begin, Settings: &settings}); err != nil {
		return err
	}
	if err := c.follow(ctx, control, o.Progress); err != nil {
		return err
	}
	if o.Bound {
		c.control = control
		return nil
	}
	return control.Send(handshake.Message{Kind: handshake.Accept})
}

// spawn starts the supervisor in its namespaces. It does nothing until it is
// told to begin.
func spawn(o Options, dir layout.Dir, listener *net.TCPListener) (*exec.Cmd, *handshake.Conn, error) {
	executable := o.Executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return nil, nil, fmt.Errorf("finding gatemark's executable: %w", err)
		}
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	file, err := listener.File()
	if err != nil {
		return nil, nil, fmt.Errorf("handing over the API server's listener: %w", err)
	}
	defer file.Close()
	log, err := os.OpenFile(dir.Log("supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(executable, SupervisorCommand)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{theirs, file} // supervisor.ControlFD, ListenerFD
	cmd.Dir = "/"
	cmd.SysProcAttr = isolation(o.Mode)
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, fmt.Errorf("starting the supervisor in its namespaces: %w", err)
	}
	return cmd, handshake.New(ours), nil
}

// isolation is the namespaces that a cluster lives in.
func isolation(mode Mode) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("making the control socket: %w", err)
	}
	return conn, theirs, nil
}

// follow shows the steps of the bring-up until it is over.
func (c *Cluster) follow(ctx context.Context, control *handshake.Conn, p *progress.Printer) error {
	steps := map[string]*progress.Step{}
	for {
		m, err := control.Receive()
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("making cluster %s: %w", c.record.Name, ctx.Err())
			}
			if errors.Is(err, io.EOF) {
				err = errors.New("the supervisor ended")
			}
			return fmt.Errorf("making cluster %s: %w\n%s", c.record.Name, err, fileTail(c.dir.Log("supervisor")))
		}
		switch m.Kind {
		case handshake.StepBegun:
			steps[m.Step] = p.Step(m.Step)
		case handshake.StepUpdate:
			steps[m.Step].Update("%s", m.Text)
		case handshake.StepDone:
			steps[m.Step].Done()
		case handshake.StepFailed:
			steps[m.Step].Fail()
		case handshake.Ready:
			return nil
		case handshake.Failed:
			err := fmt.Errorf("making cluster %s: %s", c.record.Name, m.Text)
			for _, hint := range m.Hints {
				err = failure.Hint(err, hint)
			}
			return err
		}
	}
}
