package backendfailover

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// kindSeen is what was seen of one way to fail. Instants are since the traffic
// began.
type kindSeen struct {
	kind           *kind
	paths          int
	timeout, quiet time.Duration
	victim         string

	lanes   []stream.Lane
	began   time.Time
	ready   time.Duration
	load    stream.Totals
	samples []sample
	outages []outage
	// before and after are what all backends had counted, from countedAt on, and
	// counted later.
	before, after      map[string]counters
	countedAt, counted time.Duration

	hits []stream.Hit
	// requests and errors of users, by what they were, while the backend was well.
	restRequests int
	restErrors   map[string]int
}

// An outage is one time in which the backend failed.
type outage struct {
	// from and until are its begin and its end, next the end of the time in which
	// the backend was well after it.
	from, until, next time.Duration
	// healed is when the write that ended it was answered.
	healed time.Duration
	// before and after are what the backend had counted.
	before, after counters

	// requests and errors are users'.
	requests int
	errors   map[string]int
	// failing is how many requests came to the backend while it failed, and shed
	// how long until none came any more for a while; negative where that never
	// was. back is how long after its end the first good answer came from it;
	// negative where none did.
	failing    int
	shed, back time.Duration
	// paths is on how many paths requests came to it while it failed.
	paths int
}

// settling is how long after a backend is well its failures are still those of
// the outage: its port opens a moment after it says so.
const settling = 500 * time.Millisecond

// good reports whether users got what they wanted.
func good(h *stream.Hit) bool {
	return h.Status == 200 && strings.HasPrefix(h.Marker.Route, serviceName+"-")
}

// slow reports whether an answer was one of a slow backend.
func (k *kindSeen) slow(h *stream.Hit) bool {
	return k.kind.counts == "delay" && h.Ended-h.Sent >= time.Duration(slowBy/2*float64(k.timeout))
}

// toVictim reports whether a request went to the backend that fails, as far as
// its end tells while that is so: nobody else fails.
func (k *kindSeen) toVictim(h *stream.Hit) bool {
	return h.Marker.Pod == k.victim || !good(h)
}

// take reads all hits.
func (k *kindSeen) take(hits []stream.Hit) {
	slices.SortFunc(hits, func(a, b stream.Hit) int { return cmp.Compare(a.Due, b.Due) })
	k.hits = slices.DeleteFunc(hits, func(h stream.Hit) bool { return h.Ended < k.ready })
	k.restErrors = map[string]int{}
	stuck := stream.Stuck(k.hits)
	for i := range k.outages {
		k.outages[i].errors = map[string]int{}
		k.outages[i].back = -1
	}
	arrivals := make([][]time.Duration, len(k.outages))
	for i := range k.hits {
		h := &k.hits[i]
		wrong := !good(h) || k.slow(h)
		if wrong && h.Ours(stuck) {
			continue
		}
		at, during := k.outageOf(h)
		if at >= 0 && !wrong && h.Marker.Pod == k.victim && h.Sent >= k.outages[at].until {
			if o := &k.outages[at]; o.back < 0 || h.Ended-o.until < o.back {
				o.back = h.Ended - o.until
			}
		}
		if !during {
			k.restRequests++
			if !good(h) { // what is slow while all are well, may be the machine
				k.restErrors[k.what(h)]++
			}
			continue
		}
		o := &k.outages[at]
		o.requests++
		if wrong {
			o.errors[k.what(h)]++
		}
		if k.toVictim(h) && h.Begun() < o.until && h.Begun() >= o.from {
			arrivals[at] = append(arrivals[at], h.Begun())
		}
	}
	for i := range k.outages {
		o := &k.outages[i]
		if k.kind.counts != "" {
			o.failing = int(max(0, k.failing(&o.before, &o.after)))
			arrivals[i] = k.instants(o)
		} else {
			o.failing = len(arrivals[i])
		}
		o.shed = shed(arrivals[i], o.from, o.until, k.quiet)
		o.paths = routesBetween(&o.before, &o.after)
	}
}

func (k *kindSeen) what(h *stream.Hit) string {
	if good(h) {
		return "slow answer"
	}
	return h.What()
}

// outageOf is the outage that a request belongs to, with the time after it, and
// whether the backend failed while it was under way; -1 before the first.
func (k *kindSeen) outageOf(h *stream.Hit) (at int, during bool) {
	for i := len(k.outages) - 1; i >= 0; i-- {
		if o := &k.outages[i]; h.Ended >= o.from {
			return i, h.Begun() < max(o.until, o.healed+settling)
		}
	}
	return -1, false
}

// instants are the instants of requests that came to the backend while it
// failed, by its own counters: each in the middle between two samples.
func (k *kindSeen) instants(o *outage) (all []time.Duration) {
	for i := 1; i < len(k.samples); i++ {
		a, b := &k.samples[i-1], &k.samples[i]
		if k.failing(&a.counted, &b.counted) > 0 && b.at >= o.from && a.at <= o.until {
			all = append(all, max(a.at+(b.at-a.at)/2, o.from))
		}
	}
	return all
}

// failing is how many requests failed at the backend between two counts, but for
// those that no user had sent: while it fails, these fail as well.
func (k *kindSeen) failing(before, after *counters) int64 {
	return after.Applied[k.kind.counts] - before.Applied[k.kind.counts] - (after.unasked() - before.unasked())
}

// shed is how long after the begin of an outage requests stopped coming for a
// while, from the last one before that. It is 0 where none came at all, and
// negative where they never stopped.
func shed(arrivals []time.Duration, from, until, quiet time.Duration) time.Duration {
	slices.Sort(arrivals)
	last := from
	for _, at := range append(slices.Clone(arrivals), until) {
		if at-last >= quiet {
			return last - from
		}
		last = at
	}
	return -1
}

// routesBetween is how many markers of routes were counted more often.
func routesBetween(before, after *counters) int {
	had := map[string]int64{}
	for _, r := range before.Routes {
		had[r.Route] += r.Requests
	}
	now := map[string]int64{}
	for _, r := range after.Routes {
		now[r.Route] += r.Requests
	}
	n := 0
	for route, requests := range now {
		if route != "" && requests > had[route] {
			n++
		}
	}
	return n
}

// sums over all outages.
func (k *kindSeen) sum() (requests, failed, failing int, errors map[string]int) {
	errors = map[string]int{}
	for i := range k.outages {
		o := &k.outages[i]
		requests += o.requests
		failing += o.failing
		for what, n := range o.errors {
			errors[what] += n
		}
	}
	return requests, scenario.Total(errors), failing, errors
}

// masked is how many requests failed at the backend and at no user.
func (k *kindSeen) masked() int {
	if k.kind.counts == "" || k.kind.counts == "delay" {
		return 0
	}
	_, failed, failing, _ := k.sum()
	return max(0, failing-failed)
}

// seconds are those of something of each outage; +Inf where it is negative.
func (k *kindSeen) seconds(of func(*outage) time.Duration) []float64 {
	var all []float64
	for i := range k.outages {
		if d := of(&k.outages[i]); d < 0 {
			all = append(all, math.Inf(1))
		} else {
			all = append(all, d.Seconds())
		}
	}
	return all
}

// unasked is how many requests a second came to all backends that no user sent.
func (k *kindSeen) unasked() float64 {
	n := int64(0)
	for pod, after := range k.after {
		before := k.before[pod]
		n += after.unasked() - before.unasked()
	}
	return float64(n) / k.counted.Seconds()
}
