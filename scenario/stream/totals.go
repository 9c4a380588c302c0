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

// Unexplained counts requests that found no connection while none timed out:
// otherwise the gateway did not answer, which is counted.
func (t *Totals) Unexplained() int64 {
	if t.Timeouts > 0 {
		return 0
	}
	return t.Unsent
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
