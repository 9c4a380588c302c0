package usage

import "time"

// An offset is how far a sampler's clock is ahead of this process's, by one
// question: the sampler read its clock at some instant between the question and
// the answer, in the middle as far as is known, so that half the round trip
// bounds the error.
type offset struct{ ahead, bound time.Duration }

// offsetsKept is of how many questions the best is taken: clocks drift apart by
// a millisecond within a minute at worst.
const offsetsKept = 30

// A clock maps one sampler's instants.
type clock struct{ recent []offset }

// asked takes in one question: when it was sent and answered by this process's
// clock, and what the sampler's showed, in nanoseconds.
func (c *clock) asked(sent, answered, theirs int64) {
	trip := answered - sent
	if len(c.recent) == offsetsKept {
		c.recent = append(c.recent[:0], c.recent[1:]...)
	}
	c.recent = append(c.recent, offset{time.Duration(theirs - (sent + trip/2)), time.Duration((trip + 1) / 2)})
}

// best is the offset that is known best.
func (c *clock) best() offset {
	best := offset{bound: 1<<63 - 1}
	for _, o := range c.recent {
		if o.bound <= best.bound {
			best = o
		}
	}
	return best
}
