package history

import (
	"fmt"
	"time"

	"github.com/gatemark/gatemark/result"
)

// A Report says how complete a history is.
type Report struct {
	Kind    string
	Started time.Time
	// Events counts versions that arrived by the watch; Bytes is their size.
	Events int
	Bytes  int64
	// Behind is the longest time from an event's arrival to its decoding.
	Behind time.Duration
	// Losses are points at which versions may be missing.
	Losses []Loss
	// Gaps are times without a connection. No version is missing after one,
	// but those that became inside it arrived late.
	Gaps []Gap
	// Version is the last resource version seen.
	Version string
}

// A Loss is a point at which versions may be missing.
type Loss struct {
	At   time.Time
	Text string
}

// A Gap is a time without a connection.
type Gap struct {
	From, To time.Time
	Text     string
}

// Blind is the longest gap.
func (r Report) Blind() time.Duration {
	var longest time.Duration
	for _, g := range r.Gaps {
		longest = max(longest, g.To.Sub(g.From))
	}
	return longest
}

// Gates are what a trial that rests on this history must meet: no loss, and no
// gap longer than blind.
func (r Report) Gates(blind time.Duration) []result.Gate {
	lost := result.Gate{
		Name: "history-complete", OK: len(r.Losses) == 0, Value: float64(len(r.Losses)), Unit: "1",
		Text: fmt.Sprintf("%d versions of %s seen, none lost", r.Events, r.Kind),
	}
	if !lost.OK {
		lost.Text = fmt.Sprintf("versions of %s may be lost: %s", r.Kind, r.Losses[0].Text)
	}
	seen := result.Gate{
		Name: "history-timely", OK: r.Blind() <= blind, Value: r.Blind().Seconds(), Limit: blind.Seconds(), Unit: "s",
		Text: fmt.Sprintf("longest time without a watch on %s; versions from it are stamped late", r.Kind),
	}
	return []result.Gate{lost, seen}
}
