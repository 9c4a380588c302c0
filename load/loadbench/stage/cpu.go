package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of /proc's times: USER_HZ, which is 100 on Linux wherever Go
// runs.
const tick = 10 * time.Millisecond

// A CPUTime is what the cores have done since the machine started.
type CPUTime struct {
	// Busy is all but idling, waiting for disks, and stolen time; Cores is
	// the same for each core.
	Busy  time.Duration
	Cores []time.Duration
	// Stolen is when the hypervisor ran something else.
	Stolen time.Duration
}

// ReadCPU reads the machine's counters, which go in steps of 10 ms.
func ReadCPU() (CPUTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}, err
	}
	return parseStat(text)
}

// parseStat reads /proc/stat: user, nice, system, idle, iowait, irq, softirq
// and steal for all cores, then for each. Guests' time is within user's.
func parseStat(text []byte) (CPUTime, error) {
	var t CPUTime
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		var n [8]time.Duration
		for i := range n {
			ticks, err := strconv.ParseInt(fields[1+i], 10, 64)
			if err != nil {
				return t, fmt.Errorf("/proc/stat: %w", err)
			}
			n[i] = time.Duration(ticks) * tick
		}
		busy := n[0] + n[1] + n[2] + n[5] + n[6]
		if fields[0] == "cpu" {
			t.Busy, t.Stolen = busy, n[7]
		} else {
			t.Cores = append(t.Cores, busy)
		}
	}
	if len(t.Cores) == 0 {
		return t, fmt.Errorf("/proc/stat names no core")
	}
	return t, nil
}

// CPU is the CPU time that a running process's threads have used, to the
// nanosecond. What threads had used that have ended is not in it.
func (p *Process) CPU() (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.ID()))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended since
		}
		if err != nil {
			return 0, err
		}
		d, err := parseSchedule(string(text))
		if err != nil {
			return 0, err
		}
		sum += d
	}
	if sum == 0 {
		return 0, fmt.Errorf("process %d has ended", p.ID())
	}
	return sum, nil
}

// parseSchedule reads a thread's schedstat: nanoseconds on a core, nanoseconds
// waiting for one, and turns.
func parseSchedule(text string) (time.Duration, error) {
	on, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(on, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("thread's schedstat %q: %w", text, err)
	}
	return time.Duration(n), nil
}

// Memory is the memory that a running process holds (VmRSS) and the most that
// it has held so far (VmHWM), in bytes. What a parent is told of an ended child
// would not do: it begins with the parent's own size.
func (p *Process) Memory() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.ID()))
	if err != nil {
		return 0, 0, err
	}
	if now, err = parseMemory(string(text), "VmRSS"); err != nil {
		return 0, 0, err
	}
	most, err = parseMemory(string(text), "VmHWM")
	return now, most, err
}

func parseMemory(text, name string) (int64, error) {
	_, rest, found := strings.Cut(text, "\n"+name+":")
	kilobytes, _, ok := strings.Cut(rest, "kB")
	if !found || !ok {
		return 0, fmt.Errorf("process's status has no %s: it has ended", name)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(kilobytes), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("process's %s: %w", name, err)
	}
	return n * 1024, nil
}
