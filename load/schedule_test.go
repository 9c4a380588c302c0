package load

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestConstantDue(t *testing.T) {
	c := Constant{Step: time.Millisecond}
	for n, want := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond} {
		if got := c.Due(n); got != want {
			t.Errorf("request %d is due at %v, want %v", n, got, want)
		}
	}
}

func TestDenseThenSparseDue(t *testing.T) {
	d := DenseThenSparse{Step: time.Millisecond, Dense: time.Second, Share: 0.02}
	cases := []struct {
		n    int
		want time.Duration
	}{
		{0, 0},
		{1, time.Millisecond},
		{999, 999 * time.Millisecond},
		{1000, time.Second},
		{1001, 1020 * time.Millisecond},
		{1002, 1040400 * time.Microsecond},
	}
	for _, c := range cases {
		if got := d.Due(c.n); got != c.want {
			t.Errorf("request %d is due at %v, want %v", c.n, got, c.want)
		}
	}
	// A minute costs 1000 dense requests and ln(60)/ln(1.02) = 206 sparse ones.
	if got := d.Passed(time.Minute); got != 1207 {
		t.Errorf("%d requests in a minute, want 1207", got)
	}
}

// The properties that every schedule has, on random ones.
func TestScheduleProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		step := time.Duration(1 + random.IntN(5_000_000))
		schedules := []Schedule{
			Constant{Step: step},
			DenseThenSparse{Step: step, Dense: time.Duration(random.Int64N(int64(3 * time.Second))), Share: random.Float64() / 5},
		}
		for _, s := range schedules {
			if got := s.Due(0); got != 0 {
				t.Fatalf("%+v: the first request is due at %v, want 0", s, got)
			}
			if got := s.Passed(-1); got != 0 {
				t.Fatalf("%+v: %d requests before the start", s, got)
			}
			for range 50 {
				n := random.IntN(20_000)
				due, next := s.Due(n), s.Due(n+1)
				if next < due {
					t.Fatalf("%+v: request %d at %v comes before request %d at %v", s, n+1, next, n, due)
				}
				elapsed := time.Duration(random.Int64N(int64(time.Minute)))
				passed := s.Passed(elapsed)
				if s.Due(passed) <= elapsed || passed > 0 && s.Due(passed-1) > elapsed {
					t.Fatalf("%+v: at %v %d requests have passed, but they are due at ... %v, %v",
						s, elapsed, passed, s.Due(max(0, passed-1)), s.Due(passed))
				}
			}
		}
	}
}

func TestDenseThenSparseGaps(t *testing.T) {
	d := DenseThenSparse{Step: time.Millisecond, Dense: time.Second, Share: 0.02}
	for n := 0; n < 2000; n++ {
		due := d.Due(n)
		gap := d.Due(n+1) - due
		if due < time.Second {
			if gap != time.Millisecond {
				t.Fatalf("gap of %v at %v, want 1ms", gap, due)
			}
			continue
		}
		if share := float64(gap) / float64(due); share < 0.0199 || share > 0.0201 {
			t.Fatalf("gap of %v at %v: a share of %v, want 0.02", gap, due, share)
		}
	}
}
