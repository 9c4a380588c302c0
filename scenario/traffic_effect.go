package scenario

import "time"

// A change is one write, and what is right before and after it, for each
// stream. Instants are since the traffic began.
type change struct {
	forward bool
	t0      time.Duration
	// answered is when the API server had answered, since t0.
	answered time.Duration
	// until is when watching ended.
	until         time.Duration
	before, after []rightAnswer
}

// visible reports whether answers on a lane show the change.
func (c *change) visible(l lane) bool {
	return !l.gone && !c.before[l.stream].same(c.after[l.stream], l.fresh)
}

// An effect is when a change was in force on one lane. Times are since the
// write was sent; negative ones never came.
type effect struct {
	lane int
	// since is the sending of the last request before first that showed the old
	// state: it was not yet in force everywhere on the replica then.
	since time.Duration
	// old is the sending of the last request that showed the old state.
	old time.Duration
	// first is the first answer that is right only after the change, good the
	// first after the last one that was right only before it.
	first, good time.Duration
	// rights counts right answers from good on; stale old answers that were
	// asked for after a new one had come, and later than settle after it.
	rights, stale int
}

// neverInForce stands for an instant that did not come.
const neverInForce = time.Duration(-1)

// effects reads, from the hits since a change in the order of their ends, when
// it was in force on each lane that shows it. Requests that were sent before
// the write say nothing: what they show may be of the change before. Errors do
// not count against it: they are counted by themselves.
func effects(lanes []lane, hits []hit, c *change, settle time.Duration) []effect {
	place := make([]int, len(lanes))
	var all []effect
	for i, l := range lanes {
		place[i] = -1
		if c.visible(l) {
			place[i] = len(all)
			all = append(all, effect{lane: i, first: neverInForce, good: neverInForce})
		}
	}
	for i := range hits {
		h := &hits[i]
		if at := place[h.lane]; at >= 0 && h.sent >= c.t0 {
			l := lanes[h.lane]
			all[at].take(h.ended-c.t0, h.sent-c.t0, tell(h, l.fresh, c.before[l.stream], c.after[l.stream]), settle)
		}
	}
	for i := range all {
		all[i].conclude(c, lanes)
	}
	return all
}

func (e *effect) take(ended, sent time.Duration, s shown, settle time.Duration) {
	switch s {
	case showsNew, showsEither:
		if s == showsNew && e.first < 0 {
			e.first = ended
		}
		if e.good < 0 {
			e.good = ended
		}
		e.rights++
	case showsOld:
		e.old = max(e.old, sent)
		if e.first < 0 {
			e.since = max(e.since, sent)
		} else if sent > e.first+settle {
			e.stale++
		}
		e.good, e.rights = neverInForce, 0
	}
}

// conclude: answers that are right in both states prove nothing before the
// first that is right only after the change, if there are such.
func (e *effect) conclude(c *change, lanes []lane) {
	stream := lanes[e.lane].stream
	switch {
	case c.after[stream].within(c.before[stream]):
		e.first = e.good
	case e.first < 0:
		e.good = neverInForce
	case e.good >= 0:
		e.good = max(e.good, e.first)
	}
}

// settledAnswers is how many right answers a lane must have given. Where only
// the end of old answers shows the change, more are needed: half of the
// answers may have been right before it too.
const settledAnswers, settledBlind = 5, 20

// settled reports whether every lane has been right for a while, at an instant
// since the write.
func settled(all []effect, lanes []lane, c *change, now, settle time.Duration) bool {
	for i := range all {
		e := &all[i]
		need := settledAnswers
		if stream := lanes[e.lane].stream; c.after[stream].within(c.before[stream]) {
			need = settledBlind
		}
		if e.good < 0 || e.rights < need || now-e.good < settle {
			return false
		}
	}
	return true
}

// everywhere is the latest instant over all lanes; negative where one never
// came, and where there are no lanes.
func everywhere(all []effect, of func(*effect) time.Duration) time.Duration {
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

// anywhere is the earliest.
func anywhere(all []effect) time.Duration {
	first := neverInForce
	for i := range all {
		if at := all[i].first; at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}
