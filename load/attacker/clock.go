package attacker

import (
	"context"
	"fmt"
	"time"
)

// A clock counts nanoseconds since 1970 on an axis of its own: the system's
// when it was made, and from then on the kernel's monotonic clock, which nobody
// sets.
type clock struct {
	start  time.Time
	origin int64
}

// newClock makes a clock that is ahead of the system's.
func newClock(ahead time.Duration) clock {
	start := time.Now()
	return clock{start, start.UnixNano() + int64(ahead)}
}

func (c clock) now() int64 { return c.origin + int64(time.Since(c.start)) }

// instant is when the clock shows a number.
func (c clock) instant(shown int64) time.Time { return c.start.Add(time.Duration(shown - c.origin)) }

// An Offset is how far a server's clock is ahead of this process's.
type Offset struct {
	// Offset is in nanoseconds, and off by Error at most, if the clocks run at
	// one speed for as long as a round trip takes.
	Offset time.Duration `json:"offset"`
	Error  time.Duration `json:"error"`
	// Samples is how many readings it is the best of.
	Samples int `json:"samples"`
	// At is when it was measured, by this process's clock.
	At time.Time `json:"at"`
}

// clockSamples is how many readings are taken. The best of so many met no other
// packet and found both processes awake.
const clockSamples = 40

// measure finds the offset as NTP does (RFC 5905, section 8): the server read
// its clock at some instant between the request and the answer, in the middle
// as far as we know, so that half the round trip bounds the error. The sample
// with the shortest round trip says most.
func measure(ctx context.Context, ours func() int64, ask func(context.Context) (int64, error)) (Offset, error) {
	best := Offset{Error: 1<<63 - 1, Samples: clockSamples, At: time.Now()}
	for i := range clockSamples {
		sent := ours()
		theirs, err := ask(ctx)
		if err != nil {
			return Offset{}, fmt.Errorf("read its clock, for the %d. of %d times: %w", i+1, clockSamples, err)
		}
		trip := ours() - sent
		// Rounded up: the middle may lie half a nanosecond off.
		if bound := time.Duration((trip + 1) / 2); bound < best.Error {
			best.Offset, best.Error = time.Duration(theirs-(sent+trip/2)), bound
		}
	}
	return best, nil
}

// A Clock is what is known of one attacker's clock.
type Clock struct {
	Attacker string `json:"attacker"`
	// Before is the offset by which the attacker was told its start, After the
	// one that was found when all was over. Times are in nanoseconds.
	Before Offset `json:"before"`
	After  Offset `json:"after"`
	// Drift is how far the clocks ran apart in between. What is below
	// DriftError may be none.
	Drift      time.Duration `json:"drift"`
	DriftError time.Duration `json:"driftError"`
}

func newClockReport(attacker string, before, after Offset) Clock {
	return Clock{
		Attacker: attacker, Before: before, After: after,
		Drift: after.Offset - before.Offset, DriftError: before.Error + after.Error,
	}
}

// skew bounds how far apart any two attackers began.
func skew(clocks []Clock) time.Duration {
	var first, second time.Duration
	for _, c := range clocks {
		switch e := c.Before.Error; {
		case e > first:
			first, second = e, first
		case e > second:
			second = e
		}
	}
	return first + second
}
