package load

import (
	"testing"
	"time"
)

// TestSpin: a loop does not sleep when a request is due within the time for
// which it is to spin, and sleeps up to then otherwise.
func TestSpin(t *testing.T) {
	for _, c := range []struct {
		spin        time.Duration
		least, most time.Duration
	}{
		{0, time.Minute, time.Hour},
		{time.Minute, time.Minute, 59 * time.Minute},
		{2 * time.Hour, 0, 0},
	} {
		l := &loop{attack: &attack{epoch: time.Now()}, options: &Options{Spin: c.spin, Rate: Steady(1, 2*time.Hour)}, more: true}
		l.next.due = int64(time.Hour)
		if got := l.patience(); got < c.least || got > c.most {
			t.Errorf("spinning for %v: sleeps for %v, want %v to %v", c.spin, got, c.least, c.most)
		}
	}
}
