package fault

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"
)

// A Set is Faults in force. It does not change, but for its counts.
type Set struct {
	faults     Faults
	since      time.Time
	totals     *Totals
	rules      []*rule // but for those that refuse
	refusals   []*rule
	healthPath []byte // nil for none
	healthWait sampler
	quiet      bool
	replaced   chan struct{}
}

// A rule is a compiled Rule.
type rule struct {
	*Rule
	kind  Kind
	host  []byte
	path  []byte
	route []byte
	phases
	wait       sampler
	interval   time.Duration
	retryAfter string
	lanes      [2]struct{ matched, applied atomic.Int64 }
}

// A Query is a request, as far as a Set wants to know it. Its slices are only
// read while Decide runs.
type Query struct {
	Path, Host, Route []byte
	// Health tells a health check from other requests.
	Health bool
	// Kinds are those that can be applied.
	Kinds Kinds
}

// A Verdict is what happens to one request.
type Verdict struct {
	// Stall is the instant until which nothing is answered: the zero time for
	// no stall, Forever where no end is known.
	Stall time.Time
	// Delay is what an answer waits. Waits says that there was a rule for it,
	// be it for a delay of 0.
	Delay time.Duration
	Waits bool
	// Kind is what the answer is, and the rest its parameters.
	Kind       Kind
	Code       int
	GRPC       int
	RetryAfter string // empty for none
	Middle     bool
	Bytes      int
	Interval   time.Duration
}

// Forever is an instant that no server lives to see.
var Forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Quiet reports whether there is no rule for requests, so that Decide need not
// be asked about anything but health checks.
func (s *Set) Quiet() bool { return s.quiet }

// Faults is what the Set was compiled from.
func (s *Set) Faults() Faults { return s.faults }

// Replaced is closed by Replace.
func (s *Set) Replaced() <-chan struct{} { return s.replaced }

// Replace says that another Set is in force. It is called once.
func (s *Set) Replace() { close(s.replaced) }

// Health reports whether path is the health endpoint, query and all.
func (s *Set) Health(target []byte) bool {
	rest, ok := bytes.CutPrefix(target, s.healthPath)
	return ok && s.healthPath != nil && (len(rest) == 0 || rest[0] == '?')
}

// HealthStatus is what health checks are answered with where no rule decides.
func (s *Set) HealthStatus() int { return s.faults.Health.Status }

// Decide applies the rules to a request, and counts what it decides.
func (s *Set) Decide(q *Query, now time.Time) Verdict {
	var v Verdict
	if q.Health && s.healthWait != nil && q.Kinds.Has(DelayKind) {
		v.Delay, v.Waits = s.healthWait(), true
	}
	if q.Health && s.faults.Health.IgnoreFaults {
		return v
	}
	for _, r := range s.rules {
		if !q.Kinds.Has(r.kind) || v.Kind != None && !Waits.Has(r.kind) {
			continue
		}
		on, end := r.active(now)
		if on && r.matches(q) && r.draw(q.Health) {
			s.totals.Add(r.kind)
			r.apply(&v, end)
		}
	}
	return v
}

func (r *rule) matches(q *Query) bool {
	return bytes.HasPrefix(q.Path, r.path) &&
		(len(r.route) == 0 || bytes.Equal(q.Route, r.route)) &&
		(len(r.host) == 0 || bytes.EqualFold(withoutPort(q.Host), r.host))
}

// draw decides for one request that the rule matches.
func (r *rule) draw(health bool) bool {
	lane := &r.lanes[0]
	if health {
		lane = &r.lanes[1]
	}
	n := lane.matched.Add(1)
	if r.Every > 0 && n%r.Every != 0 || r.Ratio > 0 && rand.Float64() >= r.Ratio {
		return false
	}
	lane.applied.Add(1)
	return true
}

func (r *rule) apply(v *Verdict, end time.Time) {
	switch r.kind {
	case DelayKind:
		v.Delay, v.Waits = v.Delay+r.wait(), true
		return
	case StallKind:
		if end.IsZero() {
			end = Forever
		}
		if end.After(v.Stall) {
			v.Stall = end
		}
		return
	case StatusKind:
		v.Code, v.GRPC, v.RetryAfter = r.Status.Code, r.Status.GRPC, r.retryAfter
	case ResetKind:
		v.Middle = r.Reset.At == "middle"
	case TrickleKind:
		v.Bytes, v.Interval = r.Trickle.Bytes, r.interval
	}
	v.Kind = r.kind
}

// Stalled returns until when a connection is stalled that has sent no request
// yet: by rules that stall everything. The zero time is not stalled.
func (s *Set) Stalled(now time.Time) (until time.Time) {
	for _, r := range s.rules {
		if r.kind != StallKind || r.Match != (Match{}) || r.Every > 1 || r.Ratio > 0 {
			continue
		}
		on, end := r.active(now)
		if on && end.IsZero() {
			end = Forever
		}
		if on && end.After(until) {
			until = end
		}
	}
	return until
}

// Refused reports whether connections are refused, whether open ones are reset
// as well, and when to ask again: the zero time for never.
func (s *Set) Refused(now time.Time) (refused, reset bool, next time.Time) {
	for _, r := range s.refusals {
		on, change := r.active(now)
		refused = refused || on
		reset = reset || on && r.Refuse.Open == "reset"
		if !change.IsZero() && (next.IsZero() || change.Before(next)) {
			next = change
		}
	}
	return refused, reset, next
}

// A RuleCount says how often a rule was asked and applied since it was set.
type RuleCount struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Matched counts requests that the rule was in force for and matched.
	Matched int64 `json:"matched"`
	Applied int64 `json:"applied"`
	// The same for health checks.
	HealthMatched int64 `json:"healthMatched,omitempty"`
	HealthApplied int64 `json:"healthApplied,omitempty"`
}

// Counts returns the counts of the rules that concern requests, in order.
func (s *Set) Counts() []RuleCount {
	out := []RuleCount{}
	for _, r := range s.rules {
		out = append(out, RuleCount{
			Name: r.Name, Kind: r.kind.String(),
			Matched: r.lanes[0].matched.Load(), Applied: r.lanes[0].applied.Load(),
			HealthMatched: r.lanes[1].matched.Load(), HealthApplied: r.lanes[1].applied.Load(),
		})
	}
	return out
}

// withoutPort returns host without its port; of [::1]:80 [::1] is left.
func withoutPort(host []byte) []byte {
	if colon := bytes.LastIndexByte(host, ':'); colon >= 0 && bytes.IndexByte(host[colon:], ']') < 0 {
		return host[:colon]
	}
	return host
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
