package probe

import (
	"errors"
	"fmt"
	"slices"
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
	busy, missed int    // not sent since the last probe that was
	earlier      Counts // those not sent before t0 that no probe came after
	olds         int    // old answers in a row, up to now
	answers      int    // since the inquiry began
	last         Example
	lastVerdict  Verdict

	served bool          // a right answer has come since t0
	since  time.Duration // first right answer after the last that was not; 0 for none
	rights int           // right answers since then

	reconnects, idleCloses []time.Duration // when
	origins                []string
	examples               []Example
}

// maxOrigins is how many different origins are told apart. The last one stands
// for all others.
const maxOrigins = 17

func newLane(l *loop, target Target, kind Connections) *lane {
	o := l.options
	a := &lane{loop: l, target: target, kind: kind, due: never}
	conns := 1
	if kind == Fresh {
		conns = o.InFlight
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
	a.busy, a.missed, a.earlier = 0, 0, Counts{}
	a.reconnects, a.idleCloses, a.origins, a.examples = nil, nil, nil, nil
	a.served, a.since, a.rights = false, 0, 0
}

// marked parts what was counted before t0 from what comes now.
func (a *lane) marked() {
	a.earlier = Counts{Busy: a.busy, Missed: a.missed}
	a.busy, a.missed = 0, 0
	a.examples = slices.DeleteFunc(a.examples, func(e Example) bool { return e.At < a.loop.t0 })
}

// step is the shortest time between two of the lane's probes.
func (a *lane) step() time.Duration {
	if a.kind == Fresh {
		return a.loop.options.FreshStep
	}
	return a.loop.options.Step
}

// calm is the time between two probes of a lane that has answered right. It is
// no reason for settling to take longer.
func (a *lane) calm() time.Duration {
	o := &a.loop.options
	return min(a.wide(), o.Settle/time.Duration(o.SettleAnswers+1))
}

// wide is the time between two probes where no change is expected.
func (a *lane) wide() time.Duration { return time.Duration(a.loop.options.Calm) * a.step() }

// pace is the schedule that the lane is to keep from now on: close where a
// change may come, and wide where none is expected, since each probe takes from
// the machine what the change needs.
func (a *lane) pace() load.Schedule {
	l, step := a.loop, a.step()
	if a.rights > 0 && l.inquiry.question.Mixed == MixedNever {
		return load.Constant{Step: a.calm()}
	}
	if l.marked && a.kind == Fresh && l.options.Connections == Both && !slices.ContainsFunc(l.lanes, func(b *lane) bool { return b.served }) {
		step = a.wide() // the lanes of kept connections will tell
	}
	return load.DenseThenSparse{Step: step, Dense: time.Duration(float64(step) / l.options.Sparse), Share: l.options.Sparse}
}

// restart begins a schedule.
func (a *lane) restart(start time.Duration) {
	a.schedule = a.pace()
	a.start, a.n, a.due = start, 0, start
	a.loop.next = min(a.loop.next, a.due)
}

// turn begins a schedule in the middle of another one.
func (a *lane) turn(start time.Duration) {
	a.missed += max(0, a.schedule.Passed(a.loop.now()-a.start)-a.n)
	a.restart(start)
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
	shown := s.Verdict
	s.Verdict = a.beside(shown)
	s.Busy, s.Missed = uint32(a.busy), uint32(a.missed)
	a.busy, a.missed = 0, 0
	if s.Class == load.WrongMarker {
		s.Origin = a.origin(e)
	}
	a.log.add(s)
	a.answers++
	a.last, a.lastVerdict = e, s.Verdict
	l := a.loop
	switch s.Verdict {
	case Right:
		a.right(s.Received)
	case Ours:
		a.wrong(e)
		return
	default:
		a.contradicted(&s)
		if s.Verdict == Wrong {
			a.wrong(e)
		}
	}
	switch {
	case shown == Old:
		a.olds++
	case s.Verdict != Old:
		a.olds = 0
	}
	if !l.marked {
		l.checkOld()
	}
}

// beside is what an answer means where both states answer side by side.
func (a *lane) beside(shown Verdict) Verdict {
	switch mixed := a.loop.inquiry.question.Mixed; {
	case mixed == MixedBefore && shown == Right && !a.loop.marked:
		return Old
	case mixed == MixedAfter && shown == Old && a.served:
		return Right
	}
	return shown
}

func (a *lane) right(at time.Duration) {
	if !a.loop.marked {
		return
	}
	if a.rights++; a.rights == 1 {
		a.since = at
		a.turn(a.loop.now() + a.calm())
	}
	if !a.served {
		a.served = true
		a.loop.sawRight(a)
	}
}

// contradicted starts the wait for stability over, unless the probe speaks for
// an instant before it. Judge decides in the end; this decides when to stop.
func (a *lane) contradicted(s *Sample) {
	if s.at() < a.since || a.rights == 0 {
		return
	}
	a.since, a.rights = 0, 0
	a.turn(a.loop.now() + a.step())
}

func (a *lane) wrong(e Example) {
	if len(a.examples) < a.loop.options.Examples {
		a.examples = append(a.examples, e)
	}
}

// origin finds or makes the place of an answer's origin.
func (a *lane) origin(e Example) uint16 {
	text := fmt.Sprintf("status %d, %v", e.Status, e.Marker)
	place := slices.Index(a.origins, text)
	if place < 0 && len(a.origins) == maxOrigins {
		return maxOrigins
	}
	if place < 0 {
		if place = len(a.origins); place == maxOrigins-1 {
			text = "others"
		}
		a.origins = append(a.origins, text)
	}
	return uint16(place) + 1
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
	if a.lastVerdict == Wrong {
		return fmt.Errorf("%s: %w", text, ErrOtherState)
	}
	return errors.New(text)
}

// outcome judges the lane's samples.
func (a *lane) outcome(now time.Duration) Lane {
	l := a.loop
	samples := a.log.since(l.t0)
	j := Judge(samples, now-l.t0, l.options.Settle, l.options.SettleAnswers)
	j.Before.Add(&a.earlier)
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
		Origins: a.origins, Examples: a.examples, Samples: samples,
		Reconnects: notBefore(a.reconnects, l.t0), IdleCloses: notBefore(a.idleCloses, l.t0),
	}
	for i := range samples {
		if s := &samples[i]; s.Origin > 0 && s.at() >= 0 {
			increment(&out.Misrouted, a.origins[s.Origin-1])
		}
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
	if l.inquiry.question.Mixed == MixedBefore { // the new state answered all along
		out.First, out.Flaps = out.Stable, 0
	}
	return out
}

func notBefore(instants []time.Duration, t0 time.Duration) int {
	n := 0
	for _, at := range instants {
		if at >= t0 {
			n++
		}
	}
	return n
}
