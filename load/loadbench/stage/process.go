package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Command is a program to be started from a thread.
type Command struct {
	Args []string
	Env  []string // as for exec.Cmd
}

// A Process is a program that runs.
type Process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
	err            error // when ended
}

// Start starts the command from the thread: in its namespace and on its core.
func (t *Thread) Start(c Command) (*Process, error) {
	p := &Process{cmd: exec.Command(c.Args[0], c.Args[1:]...), ended: make(chan struct{})}
	p.cmd.Env = c.Env
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		// A group of its own: Ctrl-C comes to this program, which ends it.
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	if err := t.Do(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(c.Args, " "), err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = append(slices.DeleteFunc(t.started, (*Process).over), p)
	return p, nil
}

// ID is the process's number.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Wait waits for the process's end, and kills it when the context ends. The
// error has the command and the end of what it wrote.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: %w", p.command(), context.Cause(ctx)), p.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w%s", p.command(), p.err, p.lastWords())
	}
	return nil
}

// Stop ends the process as a user would, and kills it if it has not ended
// after a while.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !p.over() {
		return errors.Join(err, p.Kill())
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(5 * time.Second):
		return errors.Join(fmt.Errorf("%s: did not end within 5 s of SIGTERM", p.command()), p.Kill())
	}
}

// Kill kills the process and waits for its end.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	<-p.ended
	if p.over() {
		return nil
	}
	return err
}

func (p *Process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Output is what the process has written, once it has ended.
func (p *Process) Output() (stdout, stderr []byte) { return p.stdout.Bytes(), p.stderr.Bytes() }

// Used is the CPU time that the process has used, its children included, once
// it has ended.
func (p *Process) Used() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

func (p *Process) command() string { return strings.Join(p.cmd.Args, " ") }

func (p *Process) lastWords() string {
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		return ""
	}
	const most = 600
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return ": " + text
}
