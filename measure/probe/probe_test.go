package probe

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

func question() Question {
	return Question{Host: "a.example", Old: Answers(404), New: Serves(newMarker)}
}

// quick keeps tests short; what it lowers does not matter to them. It probes
// less often than by default, so that a busy machine keeps up.
func quick() Options {
	return Options{Step: 2 * time.Millisecond, Settle: 60 * time.Millisecond, SettleAnswers: 5, Limit: 20 * time.Second}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// begin asks, waits for the old state and marks t0.
func begin(t *testing.T, q Question, options Options, targets ...Target) *Inquiry {
	t.Helper()
	i, err := Start(q, targets, options)
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
	if c := o.Censored(); len(c) > 0 {
		t.Fatalf("censored: %v", c)
	}
	return o
}

func transition(l *Lane) *Counts { return &l.Transition }

// checkSwitch holds a lane against the gate that its target was behind.
func checkSwitch(t *testing.T, lane *Lane, g *gate) {
	t.Helper()
	for name, interval := range map[string]Interval{"first": lane.First, "stable": lane.Stable} {
		if interval.By.Before(g.before) {
			t.Errorf("%v: %s %v before the switch", lane, name, g.before.Sub(interval.By))
		}
		if interval.After.After(g.after) {
			t.Errorf("%v: %s is said to be %v after the switch at least", lane, name, interval.After.Sub(g.after))
		}
	}
	if lane.Flaps > 0 || lane.Transition.ErrorCount() > 0 {
		t.Errorf("%v: %d flaps, errors %v after a clean switch", lane, lane.Flaps, lane.Transition.Errors)
	}
	// Of probes on several connections at once, one that began before the
	// switch may be answered after one that began behind it.
	if lane.Connections == Kept && (lane.First != lane.Stable || lane.Transition.Right > 0) {
		t.Errorf("%v: first %v, stable %v after a clean switch", lane, lane.First, lane.Stable)
	}
}

func TestSwitch(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	i := begin(t, question(), quick(), s.target("replica"))
	time.Sleep(50 * time.Millisecond)
	g.switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		checkSwitch(t, &o.Lanes[n], &g)
	}
	if o.First(Both).After(o.FirstEverywhere(Both)) || o.FirstEverywhere(Both).After(o.StableEverywhere(Both)) {
		t.Errorf("first %v, first everywhere %v, stable everywhere %v", o.First(Both), o.FirstEverywhere(Both), o.StableEverywhere(Both))
	}
	if o.StableEverywhere(Both).Before(o.T0) || o.Ended.Sub(o.StableEverywhere(Both)) < o.Options.Settle {
		t.Errorf("t0 %v, stable %v, ended %v", o.T0, o.StableEverywhere(Both), o.Ended)
	}
	if o.CPU <= 0 {
		t.Errorf("probing took %v of processor time", o.CPU)
	}
}

// How close the instants come to the truth, printed; only their order is
// asserted, because the machine may be busy.
func TestHowClose(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	p, err := New([]Target{s.target("replica")}, Options{Settle: 10 * time.Millisecond, SettleAnswers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var kept, fresh []time.Duration
	for n := range 25 {
		g.open.Store(false)
		i, err := p.Ask(question())
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Old(deadline(t)); err != nil {
			t.Fatal(err)
		}
		i.Mark(time.Now())
		// Switches must not keep in step with the probes.
		time.Sleep(8*time.Millisecond + time.Duration(n)*140*time.Microsecond)
		g.switchOver()
		o := wait(t, i)
		for n := range o.Lanes {
			checkSwitch(t, &o.Lanes[n], &g)
		}
		kept = append(kept, o.First(Kept).Sub(g.before))
		fresh = append(fresh, o.First(Fresh).Sub(g.before))
	}
	for name, delays := range map[string][]time.Duration{"kept": kept, "new": fresh} {
		slices.Sort(delays)
		n := len(delays)
		t.Logf("first served after the switch, %s: min %v, p50 %v, p90 %v, max %v", name, delays[0], delays[n/2], delays[n*9/10], delays[n-1])
	}
}

func TestOneReplicaLate(t *testing.T) {
	var gates [3]gate
	var targets []Target
	for n := range gates {
		targets = append(targets, newServer(t, gates[n].answers).target(fmt.Sprint("replica-", n)))
	}
	i := begin(t, question(), quick(), targets...)
	gates[0].switchOver()
	gates[1].switchOver()
	time.Sleep(300 * time.Millisecond)
	gates[2].switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		checkSwitch(t, &o.Lanes[n], &gates[n%3])
	}
	if len(o.Lanes) != 6 || o.Lanes[2].Target.Name != "replica-2" {
		t.Fatalf("%d lanes", len(o.Lanes))
	}
	for _, kind := range []Connections{Kept, Fresh, Both} {
		if everywhere := o.FirstEverywhere(kind); everywhere.Before(gates[2].before) {
			t.Errorf("%v: served everywhere %v before the last replica did", kind, gates[2].before.Sub(everywhere))
		}
		if first := o.First(kind); !first.Before(gates[2].before) {
			t.Errorf("%v: served first only after the last replica did", kind)
		}
	}
}

func TestDeletion(t *testing.T) {
	q := question()
	q.Old, q.New = q.New, q.Old
	var g gate
	g.open.Store(true)
	s := newServer(t, g.answers)
	i := begin(t, q, quick(), s.target("replica"))
	g.before = time.Now()
	g.open.Store(false)
	g.after = time.Now()
	o := wait(t, i)
	for n := range o.Lanes {
		checkSwitch(t, &o.Lanes[n], &g)
	}
}

func TestNeverServed(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Limit = 200 * time.Millisecond
	i := begin(t, question(), options, s.target("replica"))
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Censored(); !slices.Equal(c, []string{"replica (kept)", "replica (new)"}) {
		t.Errorf("censored: %v", c)
	}
	if first, stable := o.First(Both), o.StableEverywhere(Both); !first.IsZero() || !stable.IsZero() {
		t.Errorf("first %v, stable %v", first, stable)
	}
	if took := o.Ended.Sub(o.T0); took < options.Limit {
		t.Errorf("gave up after %v, limit %v", took, options.Limit)
	}
	if n := o.Total(transition); n.Old == 0 || n.Old != n.Sent {
		t.Errorf("%+v", n)
	}
}

// One that is served but not for good is censored too, and known to have been
// served.
func TestNeverStable(t *testing.T) {
	var n int
	s := newServer(t, func(*request) string { return oldAnswer })
	options := quick()
	options.Limit, options.Connections, options.SettleAnswers = 400*time.Millisecond, Kept, 10
	i := begin(t, question(), options, s.target("replica"))
	s.set(func(*request) string { // one connection: no race
		if n++; n%10 == 0 {
			return oldAnswer
		}
		return newAnswer
	})
	o, err := i.Wait(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	lane := &o.Lanes[0]
	if !lane.First.Seen() || lane.Stable.Seen() || lane.Flaps == 0 || len(o.Censored()) != 1 {
		t.Errorf("first %v, stable %v, %d flaps, censored %v", lane.First, lane.Stable, lane.Flaps, o.Censored())
	}
}

// Every instant at which a probe was due is accounted for, and lies on a
// schedule: that of the wait, and the calm one after the first right answer.
func TestEveryProbeIsAccountedFor(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Connections, options.Sparse = Kept, 0.001
	i := begin(t, question(), options, s.target("replica"))
	time.Sleep(100 * time.Millisecond)
	s.set(func(*request) string { // a stall, which costs probes
		time.Sleep(50 * time.Millisecond)
		s.set(func(*request) string { return newAnswer })
		return newAnswer
	})
	o := wait(t, i)
	lane := &o.Lanes[0]
	total := lane.Transition
	total.Add(&lane.After)
	right, calm := lane.First.By.Sub(o.T0), 3*o.Options.Step
	due := int(right/o.Options.Step) + 1 + int((o.Ended.Sub(o.T0)-right)/calm)
	// One that was in flight at t0 may count, one be in flight at the end, and one
	// be due while the answer was looked at.
	if got := total.Sent + total.Busy + total.Missed; got < due-1 || got > due+2 {
		t.Errorf("%d probes sent, %d busy, %d missed: %d of the %d that were due", total.Sent, total.Busy, total.Missed, got, due)
	}
	if total.Busy < 20 {
		t.Errorf("%d probes found the connection busy in a stall of 25 steps", total.Busy)
	}
	last, calmed := time.Duration(-1), time.Duration(-1)
	for _, sample := range lane.Samples {
		if sample.Due < 0 || sample.at() < 0 {
			continue
		}
		onSchedule := sample.Due%o.Options.Step == 0
		if sample.Due > right {
			if calmed < 0 {
				calmed = sample.Due
			}
			onSchedule = (sample.Due-calmed)%calm == 0
		}
		if !onSchedule || sample.Due <= last {
			t.Errorf("a probe was due at %v, the one before at %v", sample.Due, last)
		}
		if sample.Began < sample.Due || sample.Sent < sample.Began || sample.Received < sample.Sent {
			t.Errorf("%+v is out of order", sample)
		}
		last = sample.Due
	}
}

func TestRealtime(t *testing.T) {
	var g gate
	s := newServer(t, g.answers)
	options := quick()
	options.Realtime = true
	i := begin(t, question(), options, s.target("replica"))
	g.switchOver()
	o := wait(t, i)
	for n := range o.Lanes {
		checkSwitch(t, &o.Lanes[n], &g)
	}
	t.Logf("real-time priority granted: %v", o.Realtime)
}
