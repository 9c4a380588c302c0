package probe

import (
	"time"

	"github.com/gatemark/gatemark/load"
)

// A Judgement is what the samples of a lane show. Its instants are times since
// T0.
type Judgement struct {
	Served, Settled     bool
	FirstAfter, FirstBy time.Duration
	// StableAfter and StableBy are set where Settled.
	StableAfter, StableBy time.Duration
	Flaps                 int
	// Before, Transition and After are as in Lane.
	Before, Transition, After Counts
}

// Judge reads the samples of one lane, in the order in which they ended.
// Probing ended at end.
func Judge(samples []Sample, end, settle time.Duration, answers int) Judgement {
	var j Judgement
	j.first(samples)
	j.stable(samples, end, settle, answers)
	for i := range samples {
		s := &samples[i]
		switch at := s.at(); {
		case at < 0:
			j.Before.count(s)
		case j.Settled && at >= j.StableBy:
			j.After.count(s)
		default:
			j.Transition.count(s)
		}
		if s.Verdict == Old && j.Served && s.Sent > j.FirstBy {
			j.Flaps++
		}
	}
	return j
}

// first finds the first right answer, and the last probe before it that was
// answered otherwise.
func (j *Judgement) first(samples []Sample) {
	for i := range samples {
		s := &samples[i]
		switch {
		case s.Received < 0:
		case s.Verdict == Right:
			j.Served, j.FirstBy = true, s.Received
			return
		case contradicts(s) && s.Class != load.Timeout:
			j.FirstAfter = max(j.FirstAfter, s.Sent)
		}
	}
}

// stable finds the first right answer after the last probe that was not right,
// if that lasted.
func (j *Judgement) stable(samples []Sample, end, settle time.Duration, answers int) {
	last := time.Duration(-1)
	for i := range samples {
		if s := &samples[i]; contradicts(s) && s.at() >= 0 {
			last, j.StableAfter = max(last, s.at()), max(j.StableAfter, s.Sent)
		}
	}
	rights := 0
	for i := range samples {
		if s := &samples[i]; s.Verdict == Right && s.Received > last {
			if rights++; rights == 1 {
				j.StableBy = s.Received
			}
		}
	}
	j.Settled = rights >= max(answers, 1) && end-j.StableBy >= settle
	if !j.Settled {
		j.StableAfter, j.StableBy = 0, 0
	}
}

func contradicts(s *Sample) bool { return s.Verdict == Old || s.Verdict == Wrong }

func (c *Counts) count(s *Sample) {
	c.Sent++
	c.Busy += int(s.Busy)
	c.Missed += int(s.Missed)
	if delay := s.Began - s.Due; delay > 0 {
		c.MaxDelay = max(c.MaxDelay, delay)
		if delay > LateAfter {
			c.Late++
		}
	}
	if s.Status != 0 {
		increment(&c.Status, int(s.Status))
	}
	switch s.Verdict {
	case Right:
		c.Right++
	case Old:
		c.Old++
	default:
		increment(&c.Errors, s.Class)
	}
}

func increment[K comparable](counts *map[K]int, key K) {
	if *counts == nil {
		*counts = map[K]int{}
	}
	(*counts)[key]++
}
