package load

import (
	"bytes"
	"os"
	"strconv"
)

// machineTime is what /proc/stat says of all processors together, in ticks.
type machineTime struct{ all, steal int64 }

// stealField is the place of stolen time in /proc/stat's first line. Guests'
// time comes after it, and is among the users' already.
const stealField = 8

// readMachineTime is zero where the system does not tell.
func readMachineTime() (m machineTime) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machineTime{}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return parseMachineTime(line)
}

func parseMachineTime(line []byte) (m machineTime) {
	fields := bytes.Fields(line)
	if len(fields) <= stealField || string(fields[0]) != "cpu" {
		return machineTime{}
	}
	for i, field := range fields[1 : stealField+1] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return machineTime{}
		}
		m.all += n
		if i+1 == stealField {
			m.steal = n
		}
	}
	return m
}

// stolen is the share of the time since then that was stolen.
func (m machineTime) stolen(now machineTime) float64 {
	if now.all <= m.all {
		return 0
	}
	return max(0, float64(now.steal-m.steal)/float64(now.all-m.all))
}
