package stream

import "time"

// A Change is one write, and what is right before and after it, for each
// stream. Instants are since the traffic began.
type Change struct {
	Forward bool
	T0      time.Duration
	// Answered is when the API server had answered, since t0.
	Answered time.Duration
	// Until is when watching ended.
	Until         time.Duration
	Before, After []Answer
}

// Visible reports whether answers on a lane show the change.
func (c *Change) Visible(l Lane) bool {
	return !l.Gone && !c.Before[l.Stream].same(c.After[l.Stream], l.Fresh)
}

// An Effect is when a change was in force on one lane. Times are since the
// write was sent; negative ones never came.
type Effect struct {
	Lane int
	// Since is the sending of the last request before first that showed the old
	// state: it was not yet in force everywhere on the replica then.
	Since time.Duration
	// Old is the sending of the last request that showed the old state.
	Old time.Duration
	// First is the first answer that is right only after the change, good the
	// first after the last one that was right only before it.
	First, Good time.Duration
	// Rights counts right answers from good on; stale old answers that were
	// asked for after a new one had come, and later than settle after it.
	Rights, Stale int
}

// neverInForce stands for an instant that did not come.
const neverInForce = time.Duration(-1)

// Effects reads, from the hits since a change in the order of their ends, when
// it was in force on each lane that shows it. Requests that were sent before
// the write say nothing: what they show may be of the change before. Errors do
// not count against it: they are counted by themselves.
func Effects(lanes []Lane, hits []Hit, c *Change, settle time.Duration) []Effect {
	place := make([]int, len(lanes))
	var all []Effect
	for i, l := range lanes {
		place[i] = -1
		if c.Visible(l) {
			place[i] = len(all)
			all = append(all, Effect{Lane: i, First: neverInForce, Good: neverInForce})
		}
	}
	for i := range hits {
		h := &hits[i]
		if at := place[h.Lane]; at >= 0 && h.Sent >= c.T0 {
			l := lanes[h.Lane]
			all[at].take(h.Ended-c.T0, h.Sent-c.T0, Tell(h, l.Fresh, c.Before[l.Stream], c.After[l.Stream]), settle)
		}
	}
	for i := range all {
		all[i].conclude(c, lanes)
	}
	return all
}

func (e *Effect) take(ended, sent time.Duration, s Shown, settle time.Duration) {
	switch s {
	case ShowsNew, ShowsEither:
		if s == ShowsNew && e.First < 0 {
			e.First = ended
		}
		if e.Good < 0 {
			e.Good = ended
		}
		e.Rights++
	case ShowsOld:
		e.Old = max(e.Old, sent)
		if e.First < 0 {
			e.Since = max(e.Since, sent)
		} else if sent > e.First+settle {
			e.Stale++
		}
		e.Good, e.Rights = neverInForce, 0
	}
}

// conclude: answers that are right in both states prove nothing before the
// first that is right only after the change, if there are such.
func (e *Effect) conclude(c *Change, lanes []Lane) {
	stream := lanes[e.Lane].Stream
	switch {
	case c.After[stream].within(c.Before[stream]):
		e.First = e.Good
	case e.First < 0:
		e.Good = neverInForce
	case e.Good >= 0:
		e.Good = max(e.Good, e.First)
	}
}

// settledAnswers is how many right answers a lane must have given. Where only
// the end of old answers shows the change, more are needed: half of the
// answers may have been right before it too.
const settledAnswers, SettledBlind = 5, 20

// Settled reports whether every lane has been right for a while, at an instant
// since the write.
func Settled(all []Effect, lanes []Lane, c *Change, now, settle time.Duration) bool {
	for i := range all {
		e := &all[i]
		need := settledAnswers
		if stream := lanes[e.Lane].Stream; c.After[stream].within(c.Before[stream]) {
			need = SettledBlind
		}
		if e.Good < 0 || e.Rights < need || now-e.Good < settle {
			return false
		}
	}
	return true
}

// Everywhere is the latest instant over all lanes; negative where one never
// came, and where there are no lanes.
func Everywhere(all []Effect, of func(*Effect) time.Duration) time.Duration {
	last := neverInForce
	for i := range all {
		at := of(&all[i])
		if at < 0 {
			return neverInForce
		}
		last = max(last, at)
	}
	return last
}

// Anywhere is the earliest.
func Anywhere(all []Effect) time.Duration {
	first := neverInForce
	for i := range all {
		if at := all[i].First; at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}
