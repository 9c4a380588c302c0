package stream

import (
	"slices"

	"github.com/gatemark/gatemark/load"
)

// Totals is what attacks say of themselves.
type Totals struct {
	Requests, Late, Unsent, Timeouts int64
	// Ours counts requests that failed for reasons of our own, but for Unsent.
	Ours int64
}

// Add takes what attacks say of themselves.
func (t *Totals) Add(results []*load.Result) {
	for _, r := range results {
		t.Requests += r.Requests
		t.Late += r.Late
		t.Unsent += r.Unsent
		t.Timeouts += r.Errors[load.Timeout]
		for class, n := range r.Errors {
			if class.Ours() && class != load.Unsent {
				t.Ours += n
			}
		}
	}
}

// LateShare is the share of requests that were sent more than 1 ms late.
func (t *Totals) LateShare() float64 { return float64(t.Late) / float64(max(t.Requests, 1)) }

// Merge takes the totals of another part of the trial. Requests that found no
// connection are left out of a part in which some timed out: there the gateway
// did not answer, which is counted.
func (t *Totals) Merge(part Totals) {
	t.Requests += part.Requests
	t.Late += part.Late
	t.Ours += part.Ours
	if part.Timeouts == 0 {
		t.Unsent += part.Unsent
	}
}

// The limits of the traffic. An error is one however late its request was sent,
// and being late only dates it more coarsely: a busy machine may make many late.
const lateLimit, unsentLimit = 0.25, 0.001

// Gates hold what a whole trial's attacks say of themselves against the limits.
func (t *Totals) Gates(gate func(name, text, unit string, value, limit float64)) {
	gate("late-requests", "requests sent more than 1 ms after they could have been", "ratio", t.LateShare(), lateLimit)
	gate("unsent-requests", "requests that found no connection, while none timed out", "ratio", float64(t.Unsent)/float64(max(t.Requests, 1)), unsentLimit)
	gate("own-failures", "requests that failed for reasons of our own", "1", float64(t.Ours), 0)
}

// Stuck: requests got no answer in time. Those that found no connection then
// waited for the same gateway, and not for us.
func Stuck(hits []Hit) bool {
	return slices.ContainsFunc(hits, func(h Hit) bool { return h.Class == load.Timeout })
}

// Ours reports whether a request failed for reasons of our own.
func (h *Hit) Ours(stuck bool) bool {
	return h.Class.Ours() && !(stuck && h.Class == load.Unsent)
}
