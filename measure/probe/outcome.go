package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// An Outcome is what one question brought to light. Its instants have
// monotonic readings of one clock.
type Outcome struct {
	Question Question
	Options  Options
	// T0 is the instant that was marked, Ended the one at which probing ended.
	T0, Ended time.Time
	Lanes     []Lane
	// CPU is what the prober's thread used since T0.
	CPU time.Duration
	// Realtime is whether the thread ran before all ordinary ones.
	Realtime bool
}

// A Lane is one target on one kind of connection.
type Lane struct {
	Target Target
	// Connections is Kept or Fresh.
	Connections Connections

	// First is when the new state was served first.
	First Interval
	// Stable is when it was served for good: By is the receipt of the first
	// right answer after the last one that was not right. It is not seen where
	// that did not last for Options.Settle within Options.Limit.
	Stable Interval
	// Flaps counts old answers to probes that were sent after the first right
	// answer had been received.
	Flaps int

	// Before, Transition and After count what was answered before T0, from
	// then until Stable.By or to the end, and from Stable.By on.
	Before, Transition, After Counts

	// Misrouted counts, since T0, the answers from elsewhere by their origin.
	Misrouted map[string]int
	// Origins are the statuses and markers, as text, to which Sample.Origin
	// points. Those beyond the first few are "others".
	Origins []string
	// Examples are the first probes since T0 that were not right and not old.
	Examples []Example
	// Reconnects counts, since T0, how often a kept connection had to be
	// opened again, and IdleCloses how often the other side had closed it
	// while no probe was on its way.
	Reconnects, IdleCloses int
	// Samples are all probes, before T0 too, in the order in which they ended.
	Samples []Sample
}

// An Interval holds the instant at which something became true.
type Interval struct {
	// After is the sending of the last probe that showed it was not yet true,
	// or T0.
	After time.Time
	// By is the receipt of the answer that showed it was. Zero means never.
	By time.Time
}

// Seen reports whether it became true.
func (i Interval) Seen() bool { return !i.By.IsZero() }

// Counts are the probes of a stretch of time. An answer belongs to the instant
// of its receipt, a probe that timed out to that of its sending.
type Counts struct {
	// Sent is the number of probes that ended, in whatever way.
	Sent int
	// Right, Old and the Errors by class are all of them together.
	Right, Old int
	Errors     map[load.Class]int
	// Status counts complete answers by their status.
	Status map[int]int
	// Busy probes were not sent because earlier ones were still in flight,
	// Missed ones because the prober came too late.
	Busy, Missed int
	// Late probes were begun more than LateAfter after they were due; MaxDelay
	// is the longest such delay.
	Late     int
	MaxDelay time.Duration
}

// LateAfter is the delay from which on a probe counts as late.
const LateAfter = time.Millisecond

// Lateness is the longest delay of a probe that was due while a lane changed:
// from the last probe that showed otherwise to the first right answer, and
// likewise for the first of those that lasted. By no more than that the prober
// itself can have moved what it saw. Probes at other times may be late without
// any consequence.
func (o *Outcome) Lateness(l *Lane) time.Duration {
	var longest time.Duration
	for i := range l.Samples {
		s := &l.Samples[i]
		due := o.T0.Add(s.Due)
		for _, during := range []Interval{l.First, l.Stable} {
			if during.Seen() && !due.Before(during.After) && !due.After(during.By) {
				longest = max(longest, s.Began-s.Due)
			}
		}
	}
	return longest
}

// ErrorCount is the number of answers that were neither right nor old.
func (c Counts) ErrorCount() int {
	n := 0
	for _, count := range c.Errors {
		n += count
	}
	return n
}

// An Example is a probe that was neither right nor old.
type Example struct {
	// At is when it ended, since T0.
	At     time.Duration
	Class  load.Class
	Status int
	Marker marker.Marker
	// Text is the error's, where there was no complete answer.
	Text string
}

// String is for people: "status 5xx (503), no marker".
func (e Example) String() string {
	if e.Status == 0 {
		return fmt.Sprintf("%v: %s", e.Class, e.Text)
	}
	return fmt.Sprintf("%v (status %d), %v", e.Class, e.Status, e.Marker)
}

// String names the lane: "replica envoy-1 (kept)".
func (l *Lane) String() string { return fmt.Sprintf("%s (%v)", l.Target.Name, l.Connections) }

// Valid returns an error that names the lanes that are no evidence: that did
// not show the old state before T0, that had shown the new one by then, or that
// could not be probed for reasons of our own. Errors before T0 are the target's:
// they show neither state.
func (o *Outcome) Valid() error {
	var problems []error
	for i := range o.Lanes {
		if err := o.Lanes[i].valid(); err != nil {
			problems = append(problems, fmt.Errorf("%v: %w", &o.Lanes[i], err))
		}
	}
	return errors.Join(problems...)
}

func (l *Lane) valid() error {
	for class, n := range l.Transition.Errors {
		if class.Ours() {
			return fmt.Errorf("%d probes failed for reasons of our own: %v", n, class)
		}
	}
	if l.Before.Right > 0 {
		return fmt.Errorf("answered the new state %d times before the change was written", l.Before.Right)
	}
	if l.Before.Old == 0 {
		return errors.New("no answer showed the old state before the change was written")
	}
	return nil
}

// First is when a right answer was received first, on any of the kinds of
// connections. It is zero where there was none.
func (o *Outcome) First(kinds Connections) time.Time {
	var first time.Time
	for i := range o.Lanes {
		by := o.Lanes[i].First.By
		if o.Lanes[i].Connections&kinds != 0 && !by.IsZero() && (first.IsZero() || by.Before(first)) {
			first = by
		}
	}
	return first
}

// FirstEverywhere is when every target had given a right answer on each of the
// kinds of connections. It is zero where one never did.
func (o *Outcome) FirstEverywhere(kinds Connections) time.Time {
	return o.last(kinds, func(l *Lane) time.Time { return l.First.By })
}

// StableEverywhere is when every target was stable on each of the kinds of
// connections. It is zero where one never was.
func (o *Outcome) StableEverywhere(kinds Connections) time.Time {
	return o.last(kinds, func(l *Lane) time.Time { return l.Stable.By })
}

func (o *Outcome) last(kinds Connections, instant func(*Lane) time.Time) time.Time {
	var last time.Time
	for i := range o.Lanes {
		if o.Lanes[i].Connections&kinds == 0 {
			continue
		}
		at := instant(&o.Lanes[i])
		if at.IsZero() {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// Censored names the lanes that were not stable when probing ended.
func (o *Outcome) Censored() []string {
	var names []string
	for i := range o.Lanes {
		if !o.Lanes[i].Stable.Seen() {
			names = append(names, o.Lanes[i].String())
		}
	}
	return names
}

// Total sums a stretch over lanes: o.Total(func(l *Lane) *Counts { return &l.Transition }).
func (o *Outcome) Total(stretch func(*Lane) *Counts) Counts {
	var total Counts
	for i := range o.Lanes {
		total.Add(stretch(&o.Lanes[i]))
	}
	return total
}

// Add adds the counts of another stretch.
func (c *Counts) Add(other *Counts) {
	c.Sent += other.Sent
	c.Right += other.Right
	c.Old += other.Old
	c.Busy += other.Busy
	c.Missed += other.Missed
	c.Late += other.Late
	c.MaxDelay = max(c.MaxDelay, other.MaxDelay)
	addMap(&c.Errors, other.Errors)
	addMap(&c.Status, other.Status)
}

func addMap[K comparable](to *map[K]int, from map[K]int) {
	for key, n := range from {
		if *to == nil {
			*to = map[K]int{}
		}
		(*to)[key] += n
	}
}
