package park

import (
	"errors"
	"testing"
	"time"
)

// reading plays CPU shares, in percent, one for each step.
func reading(shares ...uint64) func() (busy, all uint64, err error) {
	var busy, all uint64
	n := -1
	return func() (uint64, uint64, error) {
		if n++; n > 0 {
			busy += shares[min(n, len(shares))-1]
			all += 100
		}
		return busy, all, nil
	}
}

func TestCalm(t *testing.T) {
	for name, c := range map[string]struct {
		shares []uint64
		share  float64
		calm   bool
	}{
		"at once":           {[]uint64{10, 20, 30}, 0.3, true},
		"after a while":     {[]uint64{90, 80, 10, 90, 10, 10, 15}, 0.15, true},
		"never":             {[]uint64{90}, 0.9, false},
		"never long enough": {[]uint64{10, 10, 90, 10, 10, 90, 10, 10, 90, 10}, 0.1, false},
	} {
		calm := Calm{Share: 0.3, For: 3 * time.Millisecond, Limit: 10 * time.Millisecond, read: reading(c.shares...), step: time.Millisecond}
		share, is, err := calm.Await(t.Context())
		if err != nil || share != c.share || is != c.calm {
			t.Errorf("%s: share %g, calm %v, %v", name, share, is, err)
		}
	}
	broken := errors.New("broken")
	calm := Calm{Limit: time.Second, read: func() (uint64, uint64, error) { return 0, 0, broken }}
	if _, _, err := calm.Await(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestParseCPUTime(t *testing.T) {
	busy, all, err := parseCPUTime("cpu  100 1 20 1000 50 3 4 7 99 0\ncpu0 1 2 3\n")
	if err != nil || busy != 128 || all != 1185 {
		t.Errorf("busy %d of %d, %v", busy, all, err)
	}
	for _, text := range []string{"", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3", "cpu 1 2 x 4 5 6 7 8"} {
		if _, _, err := parseCPUTime(text); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
	if _, _, err := cpuTime(); err != nil {
		t.Error(err)
	}
}
