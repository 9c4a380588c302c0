package stage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte(`cpu  1056924 163848 409900 1077121 21099 7 25211 24173 5 0
cpu0 524873 81591 201053 554157 4834 3 10451 11624 0 0
cpu1 532050 82257 208846 522964 16265 4 14759 12548 0 0
intr 53544218 0 0
ctxt 1
`))
	if err != nil {
		t.Fatal(err)
	}
	// User, nice, system, irq and softirq; guests are within user.
	want := CPUTime{
		Busy:   (1056924 + 163848 + 409900 + 7 + 25211) * tick,
		Stolen: 24173 * tick,
		Cores:  []time.Duration{(524873 + 81591 + 201053 + 3 + 10451) * tick, (532050 + 82257 + 208846 + 4 + 14759) * tick},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := parseStat([]byte("intr 1\n")); err == nil {
		t.Error("no core, and no error")
	}
}

func TestParseProcess(t *testing.T) {
	got, err := parseSchedule("445672 121127 2\n")
	if err != nil || got != 445672*time.Nanosecond {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseSchedule(""); err == nil {
		t.Error("nothing, and no error")
	}
	size, err := parseMemory("Name:\tx\nVmHWM:\t  9999 kB\nVmRSS:\t    1234 kB\nThreads:\t1\n", "VmRSS")
	if err != nil || size != 1234*1024 {
		t.Errorf("%d, %v", size, err)
	}
	if _, err := parseMemory("Name:\tx\nState:\tZ (zombie)\n", "VmRSS"); err == nil || !strings.Contains(err.Error(), "VmRSS") {
		t.Errorf("a process that has ended: %v", err)
	}
}
