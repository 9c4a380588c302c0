package attacker

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestMeasure: with round trips whose two ways differ, the offset is off by no
// more than it says, and the shortest trip decides.
func TestMeasure(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		ahead := random.Int64N(int64(time.Hour)) - int64(30*time.Minute)
		now, shortest := int64(1e18), int64(1<<62)
		way := func() int64 { return random.Int64N(1 << random.IntN(22)) }
		got, err := measure(t.Context(), func() int64 { return now }, func(context.Context) (int64, error) {
			there, back := way(), way()
			shortest = min(shortest, there+back)
			now += there
			read := now + ahead
			now += back
			return read, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if off := got.Offset - time.Duration(ahead); off.Abs() > got.Error {
			t.Errorf("seed %d: offset %v is off by %v, which is more than %v", seed, got.Offset, off, got.Error)
		}
		if want := time.Duration((shortest + 1) / 2); got.Error != want || got.Samples != clockSamples {
			t.Errorf("seed %d: error %v, want %v; %d samples", seed, got.Error, want, got.Samples)
		}
	}
	broken := errors.New("broken")
	if _, err := measure(t.Context(), func() int64 { return 0 }, func(context.Context) (int64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestClocksOverTheNetwork: attackers whose clocks are hours apart are found to
// be, and begin together.
func TestClocksOverTheNetwork(t *testing.T) {
	all, members := posts(t, 3)
	f := fleetOf(t, members, FleetOptions{})
	out := run(t, f, steady(backend(t)))
	for i, c := range out.Clocks {
		// What the two clocks show at one instant.
		at := time.Now()
		theirs, ours := all[i].clock, f.clock
		ahead := time.Duration(theirs.origin-ours.origin) + at.Sub(theirs.start) - at.Sub(ours.start)
		for _, o := range []Offset{c.Before, c.After} {
			if off := o.Offset - ahead; off.Abs() > o.Error || o.Error <= 0 {
				t.Errorf("%s: offset %v, which is %v, is off by more than %v", c.Attacker, o.Offset, ahead, o.Error)
			}
		}
		if c.Attacker != members[i].Name || c.Drift.Abs() > c.DriftError || c.DriftError != c.Before.Error+c.After.Error {
			t.Errorf("clock %+v", c)
		}
		// They run on one machine, whose clock tells when each began.
		apart := out.Attackers[i].Result.Started.Sub(out.Result.Started)
		if apart.Abs() > c.Before.Error+time.Millisecond {
			t.Errorf("%s began %v after the instant", c.Attacker, apart)
		}
	}
	if out.Skew <= 0 || out.Skew > 2*max(out.Clocks[0].Before.Error, out.Clocks[1].Before.Error, out.Clocks[2].Before.Error) {
		t.Errorf("skew %v", out.Skew)
	}
}

func TestSkew(t *testing.T) {
	clocks := make([]Clock, 4)
	for i, e := range []time.Duration{3, 9, 1, 5} {
		clocks[i].Before.Error = e
	}
	if got := skew(clocks); got != 14 {
		t.Errorf("skew %d, want 14", got)
	}
	if got := skew(clocks[:1]); got != 3 {
		t.Errorf("skew of one %d", got)
	}
}
