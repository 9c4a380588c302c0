package elasticlatency

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
	"github.com/gatemark/gatemark/stat"
)

// A pass is the timeline at one rate. Instants are since its traffic began.
type pass struct {
	rate int
	// start is when the timeline begins by the trial's clock, zero the same by
	// the traffic's.
	start, zero time.Duration
	began       time.Time
	lanes       []stream.Lane
	load        stream.Totals
	notServed   string
	happenings  []*happening
	hits        []stream.Hit
	// rest is what users saw a while after each event, and before the first.
	rest window
	// raised is from when on a request counts as one that waited.
	raised time.Duration
}

// A happening is an event that took place, and what users saw of it.
type happening struct {
	event
	// late is how much after its instant it was begun, answered how long the API
	// server took.
	late, answered time.Duration
	// generation is the route's from then on, serial the certificate's.
	generation int64
	serial     string
	// unsettled says what the cluster still lacked of it at the end of its step.
	unsettled string
	// before and after are what users saw in half a step before and after it.
	before, after window
	// first is the first answer that shows it, since then; negative where none
	// does.
	first time.Duration
}

// A window is what users saw in some time.
type window struct {
	requests [2]int // on kept connections, on new ones
	errors   [2]map[string]int
	examples []string
	// slowest answers, on kept connections and on new ones.
	slowest [2]time.Duration
	// worst is the mean of what the requests took that were due in the worst
	// 100 ms.
	worst time.Duration
	spike spike
	// back is how long after the event requests waited for the last time; lasting:
	// they did so until the window's end.
	back    time.Duration
	lasting bool
	// own is the longest that we ourselves sent a request too late.
	own time.Duration
	// took are all answers, in seconds.
	took []float64
}

// A spike is requests that waited, one soon after the other. Its height is what
// the slowest took, its length the time from when the first was due until the
// last had its answer.
type spike struct {
	at, height, length time.Duration
	requests           int
}

const (
	// restRatio and restBy are how much longer than one in a hundred at rest a
	// request must take to count as one that waited.
	restRatio, restBy = 2, 10 * time.Millisecond
	// spikeRequests is how many make a spike: a single one is chance.
	spikeRequests = 3
	maxExamples   = 5
)

// took is what an answer took from when its request was due, without what was
// our own part of it.
func took(h *stream.Hit) time.Duration { return h.Ended - h.Due - h.Late }

// right reports whether the route answered, in whatever version.
func right(h *stream.Hit) bool { return h.Status == 200 && h.Marker.Route == name }

// take reads all hits.
func (p *pass) take(hits []stream.Hit) {
	slices.SortFunc(hits, func(a, b stream.Hit) int { return cmp.Compare(a.Due, b.Due) })
	p.hits = hits
	stuck := stream.Stuck(hits)
	half := p.half()
	var rest []stream.Hit
	parts := make([][2][]stream.Hit, len(p.happenings))
	for i := range hits {
		h := hits[i]
		if h.Due < p.zero {
			continue
		}
		at, after := p.place(&h, half)
		switch {
		case at >= 0 && after:
			parts[at][1] = append(parts[at][1], h)
			continue
		case at >= 0:
			parts[at][0] = append(parts[at][0], h)
		}
		rest = append(rest, h)
	}
	p.rest = p.see(rest, p.zero, 0, stuck)
	p.raised = raisedFrom(p.rest.took)
	for i, h := range p.happenings {
		t0 := p.zero + h.at
		h.before, h.after = p.see(parts[i][0], t0-half, t0, stuck), p.see(parts[i][1], t0, t0+half, stuck)
	}
	p.firsts()
}

// half is half a step: of the events' own distance, so that one follows from
// the other.
func (p *pass) half() time.Duration {
	if len(p.happenings) == 0 {
		return 0
	}
	return p.happenings[0].step / 2
}

// place is the event in whose half step, before or after, a request was under
// way. A request that was due before an event and had its answer after it may
// have waited for it. The others are at -1.
func (p *pass) place(h *stream.Hit, half time.Duration) (at int, after bool) {
	for i, e := range p.happenings {
		t0 := p.zero + e.at
		switch {
		case h.Ended >= t0 && h.Due < t0+half && h.Due >= t0-half:
			return i, true
		case h.Due >= t0-half && h.Due < t0:
			return i, false
		}
	}
	return -1, false
}

// raisedFrom is from when on a request counts as one that waited.
func raisedFrom(rest []float64) time.Duration {
	p99 := stat.Summarize(rest, stat.Options{}).P99
	if math.IsNaN(p99) {
		p99 = 0
		for _, s := range rest { // too few for one in a hundred
			p99 = max(p99, s)
		}
	}
	return max(time.Duration(restRatio*p99*float64(time.Second)), time.Duration(p99*float64(time.Second))+restBy)
}

// see reads the requests of a window. Where from is not before until, it has no
// bounds, and nothing is a spike in it.
func (p *pass) see(hits []stream.Hit, from, until time.Duration, stuck bool) window {
	w := window{errors: [2]map[string]int{{}, {}}}
	type slice struct {
		sum     time.Duration
		n, slow int
	}
	bins := map[time.Duration]*slice{}
	var waited []stream.Hit
	for i := range hits {
		h := &hits[i]
		if !right(h) && h.Ours(stuck) {
			continue
		}
		at := fresh(p.lanes[h.Lane])
		w.requests[at]++
		w.own = max(w.own, h.Late)
		if !right(h) {
			w.errors[at][h.What()]++
			if len(w.examples) < maxExamples {
				w.examples = append(w.examples, fmt.Sprintf("%s: %s on %s, %s after the event", p.began.Add(h.Ended).UTC().Format("15:04:05.000"), h.What(), p.lanes[h.Lane], (h.Ended-from).Round(time.Millisecond)))
			}
			continue
		}
		t := took(h)
		w.took = append(w.took, t.Seconds())
		w.slowest[at] = max(w.slowest[at], t)
		s := bins[max(h.Due-from, 0)/stream.WorstBin]
		if s == nil {
			s = &slice{}
			bins[max(h.Due-from, 0)/stream.WorstBin] = s
		}
		s.sum += t
		s.n++
		if from < until && t > p.raised {
			s.slow++
			waited = append(waited, *h)
		}
	}
	for at, s := range bins {
		w.worst = max(w.worst, s.sum/time.Duration(s.n))
		if end := (at + 1) * stream.WorstBin; s.slow > 1 && 10*s.slow >= s.n {
			w.back = max(w.back, end)
			w.lasting = w.lasting || from+end >= until
		}
	}
	w.spike = spikeOf(waited)
	return w
}

// spikeOf is the highest spike of requests that waited, in the order in which
// they were due.
func spikeOf(waited []stream.Hit) (highest spike) {
	for i := 0; i < len(waited); {
		one := spike{at: waited[i].Due}
		end := waited[i].Ended
		for ; i < len(waited) && waited[i].Due <= end+stream.ErrorGap; i++ {
			one.height, end = max(one.height, took(&waited[i])), max(end, waited[i].Ended)
			one.requests++
		}
		one.length = end - one.at
		if one.requests >= spikeRequests && one.height > highest.height {
			highest = one
		}
	}
	return highest
}

// fresh is the place of a lane's kind of connection.
func fresh(l stream.Lane) int {
	if l.Fresh {
		return 1
	}
	return 0
}

func (w *window) all() int { return w.requests[0] + w.requests[1] }

func (w *window) failed() int { return scenario.Total(w.errors[0]) + scenario.Total(w.errors[1]) }

// both are the errors on both kinds of connection.
func (w *window) both() map[string]int {
	all := map[string]int{}
	for _, one := range w.errors {
		for what, n := range one {
			all[what] += n
		}
	}
	return all
}

const (
	// A spike is worth a finding where it is so much higher than what one in a
	// hundred takes at rest, and so many times.
	spikeBy, spikeRatio = 100 * time.Millisecond, 3
	// ownShare is what we may have been late ourselves, as a share of a spike's
	// height, for it to be the gateway's.
	ownShare = 4
)

// spiked reports whether the event made requests wait: by more than chance, not
// as before it already, and not for us.
func (p *pass) spiked(h *happening) bool {
	s, rest := h.after.spike, stat.Summarize(p.rest.took, stat.Options{}).P99
	if math.IsNaN(rest) {
		return false
	}
	p99 := time.Duration(rest * float64(time.Second))
	return s.height >= p99+spikeBy && s.height >= spikeRatio*p99 && 2*h.before.spike.height <= s.height && ownShare*h.after.own <= s.height
}

// A kindSeen is all events of a kind, at all rates.
type kindSeen struct {
	event
	all []*happening
	// of is the pass of each.
	of []*pass
}

// kinds are those that took place, in the order of the timeline.
func (e *elastic) kinds() []*kindSeen {
	var all []*kindSeen
	for _, p := range e.passes {
		for _, h := range p.happenings {
			at := slices.IndexFunc(all, func(k *kindSeen) bool { return k.kind == h.kind })
			if at < 0 {
				at = len(all)
				all = append(all, &kindSeen{event: h.event})
			}
			all[at].all, all[at].of = append(all[at].all, h), append(all[at].of, p)
		}
	}
	return all
}

// at are the events of a kind at one rate.
func (k *kindSeen) at(p *pass) *kindSeen {
	part := &kindSeen{event: k.event}
	for i, h := range k.all {
		if k.of[i] == p {
			part.all, part.of = append(part.all, h), append(part.of, p)
		}
	}
	return part
}

// spiked counts the events that made requests wait.
func (k *kindSeen) spiked() int {
	n := 0
	for i, h := range k.all {
		if k.of[i].spiked(h) {
			n++
		}
	}
	return n
}

// sum adds up errors and requests after all events.
func (k *kindSeen) sum() window {
	all := window{errors: [2]map[string]int{{}, {}}}
	for _, h := range k.all {
		all.add(&h.after)
	}
	return all
}

func (w *window) add(other *window) {
	for i := range w.requests {
		w.requests[i] += other.requests[i]
		w.slowest[i] = max(w.slowest[i], other.slowest[i])
		for what, n := range other.errors[i] {
			w.errors[i][what] += n
		}
	}
	w.examples = append(w.examples, other.examples...)
}

// seconds are those of something of each event.
func (k *kindSeen) seconds(of func(*happening) time.Duration) []float64 {
	var all []float64
	for _, h := range k.all {
		if d := of(h); d < 0 {
			all = append(all, math.Inf(1))
		} else {
			all = append(all, d.Seconds())
		}
	}
	return all
}

// base is what users saw while nothing happened, at all rates.
func (e *elastic) base() window {
	all := window{errors: [2]map[string]int{{}, {}}}
	for _, p := range e.passes {
		all.add(&p.rest)
	}
	return all
}

// backAfter is when requests waited for the last time; negative where they did
// so until the end.
func backAfter(h *happening) time.Duration {
	if h.after.lasting {
		return -1
	}
	return h.after.back
}
