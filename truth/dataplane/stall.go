package dataplane

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Stall is a time in which the fault stall let requests wait.
type Stall struct {
	// First is when the first of them came, and Last when the last one had its
	// answer. Longest is the time between both of the one that took longest.
	First, Last time.Time
	Longest     time.Duration
	// until is when they were let go.
	until time.Time
}

// stalls are all that there were.
type stalls struct {
	mu  sync.Mutex
	all []Stall
}

// wait lets a request wait until then, and notes when it has its answer: then its
// context ends.
func (s *stalls) wait(ctx context.Context, came, until time.Time) {
	context.AfterFunc(ctx, func() { s.note(came, time.Now(), until) })
	_ = pause(ctx, until.Sub(came)) // whoever gave up needs no answer
}

func (s *stalls) note(came, answered, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.all, func(one Stall) bool { return one.until.Equal(until) })
	if at < 0 {
		at, s.all = len(s.all), append(s.all, Stall{First: came, Last: answered, until: until})
	}
	one := &s.all[at]
	if came.Before(one.First) {
		one.First = came
	}
	if answered.After(one.Last) {
		one.Last = answered
	}
	one.Longest = max(one.Longest, answered.Sub(came))
}

// Stalls are those whose requests have had their answers, in their order.
func (r *Replica) Stalls() []Stall {
	r.wrong.stalls.mu.Lock()
	defer r.wrong.stalls.mu.Unlock()
	return slices.Clone(r.wrong.stalls.all)
}
