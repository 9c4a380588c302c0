package probe

import (
	"fmt"
	"time"

	"github.com/gatemark/gatemark/load"
)

// A lane is one target on one kind of connection, as the loop sees it.
type lane struct {
	loop     *loop
	target   Target
	kind     Connections
	schedule load.Schedule
	conns    []*conn

	start time.Duration // of the schedule
	n     int           // number of the next probe on the schedule
	due   time.Duration // when that is due

	log          record
	busy, missed int // not sent since the last probe that was
	olds         int // old answers in a row, up to now
	answers      int // since the inquiry began
	last         Example
	lastVerdict  Verdict

	served bool          // a right answer has come since t0
	since  time.Duration // first right answer after the last that was not; 0 for none
	rights int           // right answers since then

	reconnects, idleCloses int
	misrouted              map[string]int
	examples               []Example
}

// maxMisrouted is how many different origins are counted by name.
const maxMisrouted = 16

func newLane(l *loop, target Target, kind Connections) *lane {
	o := l.options
	a := &lane{loop: l, target: target, kind: kind, due: never}
	conns := 1
	a.schedule = load.Constant{Step: o.Step}
	if kind == Fresh {
		conns = o.InFlight
		a.schedule = load.DenseThenSparse{Step: o.FreshStep, Dense: o.Dense, Share: o.Sparse}
	}
	for range conns {
		c := newConn(l, a, len(l.conns))
		l.conns, a.conns = append(l.conns, c), append(a.conns, c)
	}
	return a
}

func (a *lane) String() string { return fmt.Sprintf("%s (%v)", a.target.Name, a.kind) }

// reset prepares for an inquiry.
func (a *lane) reset() {
	a.log, a.olds, a.answers, a.last = record{}, 0, 0, Example{}
	a.busy, a.missed = 0, 0
	a.marked()
}

// marked forgets what was counted before t0.
func (a *lane) marked() {
	a.served, a.since, a.rights = false, 0, 0
	a.reconnects, a.idleCloses, a.misrouted, a.examples = 0, 0, nil, nil
}

// restart begins the schedule anew.
func (a *lane) restart(start time.Duration) {
	a.start, a.n, a.due = start, 0, start
	a.loop.next = min(a.loop.next, a.due)
}

// forget ends the inquiry for this lane: nothing is due, and the probes that
// are in flight are nobody's.
func (a *lane) forget() {
	a.due, a.log = never, record{}
	for _, c := range a.conns {
		if a.kind == Fresh {
			c.close()
		}
		c.orphan = true
	}
}

// fire sends the probe that is due, unless all connections are busy.
func (a *lane) fire() {
	now, due := a.loop.now(), a.due
	passed := max(a.schedule.Passed(now-a.start), a.n+1)
	overslept := passed - a.n - 1
	a.n = passed
	a.due = a.start + a.schedule.Due(passed)
	for _, c := range a.conns {
		if !c.busy() {
			a.missed += overslept
			c.probe(due, now)
			return
		}
	}
	a.busy += overslept + 1
}

// take records a probe that ended.
func (a *lane) take(s Sample, e Example) {
	s.Busy, s.Missed = uint32(a.busy), uint32(a.missed)
	a.busy, a.missed = 0, 0
	a.log.add(s)
	a.answers++
	a.last, a.lastVerdict = e, s.Verdict
	l := a.loop
	switch s.Verdict {
	case Right:
		a.right(s.Received)
	case Ours:
		return
	default:
		a.contradicted(&s)
		if s.Verdict == Wrong {
			a.wrong(e)
		}
	}
	if s.Verdict == Old {
		a.olds++
	} else {
		a.olds = 0
	}
	if !l.marked {
		l.checkOld()
	}
}

func (a *lane) right(at time.Duration) {
	if !a.loop.marked {
		return
	}
	if a.rights++; a.rights == 1 {
		a.since = at
	}
	if !a.served {
		a.loop.sawRight(a)
		a.served = true
	}
}

// contradicted starts the wait for stability over, unless the probe speaks for
// an instant before it. Judge decides in the end; this decides when to stop.
func (a *lane) contradicted(s *Sample) {
	if s.at() >= a.since {
		a.since, a.rights = 0, 0
	}
}

func (a *lane) wrong(e Example) {
	if len(a.examples) < a.loop.options.Examples {
		a.examples = append(a.examples, e)
	}
	if e.Class != load.WrongMarker {
		return
	}
	origin := fmt.Sprintf("status %d, %v", e.Status, e.Marker)
	if _, known := a.misrouted[origin]; !known && len(a.misrouted) >= maxMisrouted {
		origin = "others"
	}
	increment(&a.misrouted, origin)
}

// settled reports whether the lane has answered right, and nothing else, for
// long enough, and every probe sent in that time has been answered.
func (a *lane) settled(now time.Duration) bool {
	o := &a.loop.options
	if a.rights < o.SettleAnswers || a.rights == 0 || now-a.since < o.Settle {
		return false
	}
	for _, c := range a.conns {
		if c.busy() && !c.orphan && c.sample.Began <= a.since+o.Settle {
			return false
		}
	}
	return true
}

// notOld says what the lane answered instead of the old state.
func (a *lane) notOld() error {
	if a.answers == 0 {
		return fmt.Errorf("%v: no answer yet", a)
	}
	text := fmt.Sprintf("%v: %d old answers in a row, want %d; the last of %d answers was %v",
		a, a.olds, a.loop.options.OldAnswers, a.answers, a.lastVerdict)
	if a.lastVerdict != Old {
		text += ": " + a.last.String()
	}
	return fmt.Errorf("%s", text)
}

// outcome judges the lane's samples.
func (a *lane) outcome(now time.Duration) Lane {
	l := a.loop
	samples := a.log.since(l.t0)
	j := Judge(samples, now-l.t0, l.options.Settle, l.options.SettleAnswers)
	rest := &j.Transition
	if j.Settled {
		rest = &j.After
	}
	rest.Busy += a.busy
	rest.Missed += a.missed + max(0, a.schedule.Passed(now-a.start)-a.n)
	instant := func(d time.Duration) time.Time { return l.epoch.Add(l.t0 + d) }
	out := Lane{
		Target: a.target, Connections: a.kind, Flaps: j.Flaps,
		Before: j.Before, Transition: j.Transition, After: j.After,
		Misrouted: a.misrouted, Examples: a.examples,
		Reconnects: a.reconnects, IdleCloses: a.idleCloses, Samples: samples,
	}
	for i := range out.Examples {
		out.Examples[i].At -= l.t0
	}
	if j.Served {
		out.First = Interval{After: instant(j.FirstAfter), By: instant(j.FirstBy)}
	}
	if j.Settled {
		out.Stable = Interval{After: instant(j.StableAfter), By: instant(j.StableBy)}
	}
	return out
}
