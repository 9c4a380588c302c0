package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process is recorded so that no other process that got its number later
// can be taken for it.
type process struct {
	PID int `json:"pid"`
	// StartTicks is when it started, in clock ticks since the machine did.
	StartTicks uint64 `json:"startTicks"`
	// BootID names that start of the machine.
	BootID string `json:"bootID"`
}

// A record is what is written down about a cluster when its supervisor has
// been started.
type record struct {
	process
	Name    string    `json:"name"`
	Mode    Mode      `json:"mode"`
	NodeDir string    `json:"nodeDir"`
	Port    int       `json:"port"`
	Started time.Time `json:"started"`
}

func identify(pid int) (process, error) {
	ticks, err := startTicks(pid)
	if err != nil {
		return process{}, err
	}
	boot, err := bootID()
	if err != nil {
		return process{}, err
	}
	return process{PID: pid, StartTicks: ticks, BootID: boot}, nil
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identifying a process: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// startTicks reads the 22nd field of /proc/PID/stat. The second is the
// program's name in parentheses, and may hold anything.
func startTicks(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	_, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, fmt.Errorf("identifying process %d: /proc/%d/stat is too short", pid, pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// open returns a handle on the process, or ok false where it has ended.
func (p process) open() (fd int, ok bool, err error) {
	boot, err := bootID()
	if err != nil {
		return 0, false, err
	}
	if p.PID <= 0 || boot != p.BootID {
		return 0, false, nil
	}
	fd, err = unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("opening process %d: %w", p.PID, err)
	}
	// The handle holds whatever process has the number now: only after this
	// look is it known to be ours.
	ticks, err := startTicks(p.PID)
	if err != nil || ticks != p.StartTicks || ended(fd) {
		unix.Close(fd)
		return 0, false, nil
	}
	return fd, true, nil
}

// ended tells whether the process of a handle is over, if only uncollected.
func ended(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

func (p process) alive() (bool, error) {
	fd, ok, err := p.open()
	if ok {
		unix.Close(fd)
	}
	return ok, err
}

// kill kills the process and waits until it is gone. For process 1 of a PID
// namespace that means that every process in the namespace is gone.
func (p process) kill(ctx context.Context) error {
	fd, ok, err := p.open()
	if err != nil || !ok {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing process %d: %w", p.PID, err)
	}
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for process %d to end: %w", p.PID, err)
		}
		if n > 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for process %d to end: %w", p.PID, err)
		}
	}
}

// readRecord returns ok false where there is none.
func readRecord(file string) (r record, ok bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("reading a cluster's record: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, false, fmt.Errorf("reading a cluster's record %s: %w", file, err)
	}
	return r, true, nil
}

func (r record) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("recording the cluster: %w", err)
	}
	// Whole or not at all, whenever this process is killed.
	if err := os.WriteFile(file+".next", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("recording the cluster: %w", err)
	}
	if err := os.Rename(file+".next", file); err != nil {
		return fmt.Errorf("recording the cluster: %w", err)
	}
	return nil
}
