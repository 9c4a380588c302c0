package fault

import (
	"testing"
	"time"
)

func TestCleanByDefault(t *testing.T) {
	for _, s := range []*Switch{nil, new(Switch)} {
		f := s.Now()
		if f.BeforeApply(0) != 0 || f.BeforeStatus() != 0 || f.Refuses(1) {
			t.Errorf("faults without any set: %+v", f)
		}
	}
}

func TestFaultsAreAsked(t *testing.T) {
	s := new(Switch)
	s.Set(Faults{Propagation: time.Second, Late: map[int]time.Duration{2: time.Minute}, Status: time.Hour, ErrorEvery: 3})
	f := s.Now()
	if got := f.BeforeApply(0); got != time.Second {
		t.Errorf("replica 0 waits %s", got)
	}
	if got := f.BeforeApply(2); got != time.Minute+time.Second {
		t.Errorf("replica 2 waits %s", got)
	}
	if got := f.BeforeStatus(); got != time.Hour {
		t.Errorf("status waits %s", got)
	}
	refused := 0
	for n := range int64(9) {
		if f.Refuses(n + 1) {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d of 9 requests refused, want 3", refused)
	}
	s.Set(Faults{})
	if s.Now().Refuses(3) {
		t.Error("a fault stays after it was taken back")
	}
}
