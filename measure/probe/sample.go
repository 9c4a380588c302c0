package probe

import (
	"fmt"
	"time"

	"github.com/gatemark/gatemark/load"
)

// A Verdict says what a probe showed.
type Verdict uint8

const (
	// Right is an answer that shows the new state.
	Right Verdict = iota
	// Old is an answer that shows the old state.
	Old
	// Wrong is any other answer, or none.
	Wrong
	// Ours is a probe that failed for reasons of our own and shows nothing,
	// such as no local port left.
	Ours
)

// String is the verdict's name in results.
func (v Verdict) String() string {
	switch v {
	case Right:
		return "right"
	case Old:
		return "old"
	case Wrong:
		return "wrong"
	case Ours:
		return "ours"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

// A Sample is one probe. Its instants are times since T0, negative before.
type Sample struct {
	// Due is when the schedule wanted it, Began when it was begun, with
	// connecting where there was no connection, Sent when its request was
	// handed to the kernel (Began where it came to no request), and Received
	// when its answer was complete or its failure known.
	Due, Began, Sent, Received time.Duration
	// Status is 0 where there was no complete answer.
	Status  uint16
	Class   load.Class
	Verdict Verdict
	// Origin is the place in Lane.Origins of an answer from elsewhere, counted
	// from 1, and 0 for other answers.
	Origin uint16
	// Busy and Missed count the probes not sent since the one before.
	Busy, Missed uint32
}

// at is the instant that the probe speaks for. A probe that was never answered
// shows something about the instant at which it was sent, or T0 where it was
// in flight then, and nothing about the one at which we gave up.
func (s *Sample) at() time.Duration {
	if s.Class != load.Timeout {
		return s.Received
	}
	if s.Received >= 0 {
		return max(s.Sent, 0)
	}
	return s.Sent
}
