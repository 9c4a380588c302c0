package probe

import (
	"context"
	"testing"
	"time"
)

func question() Question {
	return Question{Host: "a.example", Old: Answers(404), New: Serves(newMarker)}
}

// quick keeps tests short; what it lowers does not matter to them.
func quick() Options {
	return Options{Settle: 60 * time.Millisecond, Limit: 20 * time.Second}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// start asks, waits for the old state and marks t0.
func start(t *testing.T, options Options, targets ...Target) *Inquiry {
	t.Helper()
	i, err := Start(question(), targets, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if err := i.Old(deadline(t)); err != nil {
		t.Fatal(err)
	}
	i.Mark(time.Now())
	return i
}

func wait(t *testing.T, i *Inquiry) *Outcome {
	t.Helper()
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Valid(); err != nil {
		t.Error(err)
	}
	return o
}

func TestSwitch(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	i := start(t, quick(), s.target("replica"))
	time.Sleep(50 * time.Millisecond)
	g.switchOver()
	o := wait(t, i)
	if c := o.Censored(); len(c) > 0 {
		t.Fatalf("censored: %v", c)
	}
	for n := range o.Lanes {
		lane := &o.Lanes[n]
		if lane.First.By.Before(g.before) {
			t.Errorf("%v: served first %v before the switch", lane, g.before.Sub(lane.First.By))
		}
		if lane.First.After.After(g.after) {
			t.Errorf("%v: the interval begins %v after the switch", lane, lane.First.After.Sub(g.after))
		}
		t.Logf("%v: first served %v after the switch, interval %v, %+v", lane, lane.First.By.Sub(g.before), lane.First.By.Sub(lane.First.After), lane.Transition)
	}
}
