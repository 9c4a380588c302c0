package fault

import (
	"testing"
	"time"
)

func TestBeforeApply(t *testing.T) {
	f := Faults{Propagation: time.Second, Late: map[int]time.Duration{2: time.Minute}, StatusEarly: time.Hour, Growth: time.Millisecond, FirstRoute: 24 * time.Hour}
	for _, c := range []struct {
		arrival Arrival
		want    time.Duration
	}{
		{Arrival{}, time.Hour + time.Second},
		{Arrival{Replica: 2}, time.Hour + time.Minute + time.Second},
		{Arrival{Routes: 30}, time.Hour + time.Second + 30*time.Millisecond},
		{Arrival{Routes: 1, First: true}, 25*time.Hour + time.Second + time.Millisecond},
	} {
		if got := f.BeforeApply(c.arrival); got != c.want {
			t.Errorf("%+v: waits %s, want %s", c.arrival, got, c.want)
		}
	}
}

func TestBeforeStatus(t *testing.T) {
	f := Faults{Status: time.Second, CountLate: time.Minute}
	if got := f.BeforeRouteStatus(); got != time.Second {
		t.Errorf("a route's status waits %s", got)
	}
	if got := f.BeforeGatewayStatus(); got != time.Minute+time.Second {
		t.Errorf("a Gateway's status waits %s", got)
	}
}

// among counts how many of the first n are hit.
func among(n int64, hit func(int64) bool) int {
	hits := 0
	for i := range n {
		if hit(i + 1) {
			hits++
		}
	}
	return hits
}

func TestEachOfSoMany(t *testing.T) {
	f := Faults{ErrorEvery: 3, DropEvery: 4, HangEvery: 5, Misroute: 6, IgnoreEvery: 10, ErrorsAlways: 12, StaleGeneration: 15}
	for name, c := range map[string]struct {
		hit  func(int64) bool
		want int
	}{
		"refused":   {f.Refuses, 20},
		"dropped":   {f.Drops, 15},
		"hung":      {func(n int64) bool { return f.Hangs(n) == time.Second }, 12},
		"misrouted": {f.Misroutes, 10},
		"ignored":   {func(n int64) bool { return f.Ignores(int(n)) }, 6},
		"failing":   {func(n int64) bool { return f.Fails(int(n)) }, 5},
		"stale":     {func(n int64) bool { return f.Stale(int(n)) }, 4},
	} {
		if got := among(60, c.hit); got != c.want {
			t.Errorf("%s: %d of 60, want %d", name, got, c.want)
		}
	}
	f.HangFor = time.Minute
	if got := f.Hangs(5); got != time.Minute {
		t.Errorf("a request hangs for %s", got)
	}
}

func TestAges(t *testing.T) {
	f := Faults{ErrorsOnChange: time.Second, Flaps: time.Minute}
	if !f.Warms(time.Second-1) || f.Warms(time.Second) {
		t.Error("a route does not warm for exactly its time")
	}
	if !f.Relapses(time.Minute-1) || f.Relapses(time.Minute) {
		t.Error("a route does not relapse for exactly its time")
	}
}

func TestFrozen(t *testing.T) {
	f := Faults{Ceiling: 10}
	if f.Frozen(9) || !f.Frozen(10) || !f.Frozen(11) {
		t.Error("the ceiling of 10 is not from the tenth on")
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		name                   string
		f                      Faults
		listener, routes, peak int
		want                   int
	}{
		{"clean", Faults{}, 1, 7, 9, 7},
		{"over", Faults{Overcount: 2}, 0, 7, 9, 9},
		{"over, without routes", Faults{Overcount: 2}, 0, 0, 9, 0},
		{"under", Faults{Undercount: 2}, 0, 7, 9, 5},
		{"under, with few", Faults{Undercount: 2}, 0, 1, 9, 0},
		{"stuck, on the way up", Faults{StuckCount: 3}, 0, 2, 2, 2},
		{"stuck, above", Faults{StuckCount: 3}, 0, 7, 9, 7},
		{"stuck, on the way down", Faults{StuckCount: 3}, 0, 1, 9, 3},
		{"stuck, at the end", Faults{StuckCount: 3}, 0, 0, 9, 3},
		{"stuck, never many", Faults{StuckCount: 3}, 0, 0, 2, 2},
		{"the first only, first", Faults{CountsFirstListener: true}, 0, 7, 9, 7},
		{"the first only, second", Faults{CountsFirstListener: true}, 1, 7, 9, 0},
	} {
		if got := c.f.Count(c.listener, c.routes, c.peak); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestRetries(t *testing.T) {
	f := Faults{MaskingRetries: 2}
	if f.Retries(0) != 2 || f.Retries(5) != 5 || !f.Masks(500) || f.Masks(499) || (Faults{}).Masks(500) || (Faults{}).Retries(1) != 1 {
		t.Error("retries do not mask")
	}
}
