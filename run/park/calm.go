package park

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Calm says when a node has come to rest after pods were started or ended
// on it.
type Calm struct {
	// Share of the CPUs' time that may be in use: 0 to 1.
	Share float64
	// For is how long it must stay below that, Limit how long that is waited
	// for.
	For, Limit time.Duration

	// read returns the CPU time that was used, and all of it, in any unit:
	// this node's where it is nil. step is between two looks: a second where
	// it is 0.
	read func() (busy, all uint64, err error)
	step time.Duration
}

// Await waits. It returns the share that was in use last, and whether the node
// came to rest.
func (c Calm) Await(ctx context.Context) (share float64, calm bool, err error) {
	read, step := c.read, c.step
	if read == nil {
		read = cpuTime
	}
	if step == 0 {
		step = time.Second
	}
	busy, all, err := read()
	if err != nil {
		return 0, false, err
	}
	quiet := time.Duration(0)
	for waited := time.Duration(0); waited < c.Limit; waited += step {
		select {
		case <-ctx.Done():
			return share, false, ctx.Err()
		case <-time.After(step):
		}
		nowBusy, nowAll, err := read()
		if err != nil {
			return share, false, err
		}
		if nowAll > all {
			share = float64(nowBusy-busy) / float64(nowAll-all)
		}
		busy, all = nowBusy, nowAll
		if quiet += step; share > c.Share {
			quiet = 0
		}
		if quiet >= c.For {
			return share, true, nil
		}
	}
	return share, false, nil
}

// cpuTime is the CPU time of this node since it started. Waiting for a disk,
// and time that a virtual machine's host took, are not use.
func cpuTime() (busy, all uint64, err error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	return parseCPUTime(string(data))
}

// parseCPUTime reads the first line of /proc/stat: user, nice, system, idle,
// iowait, irq, softirq, steal. Guests' time, behind these, is in user already.
func parseCPUTime(text string) (busy, all uint64, err error) {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		all += n
		if i != 3 && i != 4 && i != 7 {
			busy += n
		}
	}
	return busy, all, nil
}
