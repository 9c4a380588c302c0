package planerestart

import (
	"fmt"
	"sort"
	"time"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// kindSeen is what was seen of one kind.
type kindSeen struct {
	kind    *kind
	planned int
	// unsupported says why the kind did not take place, notServed what was wrong
	// before its first event.
	unsupported, notServed string

	lanes []stream.Lane
	began time.Time
	// ready is since when the state before the first event was there. Instants
	// are since the traffic began.
	ready  time.Duration
	events []event
	load   stream.Totals

	rest usersSaw
	// restSockets are those that ended between two events.
	restSockets []socketEnd
}

// An event is one thing that happened, and what users saw of it.
type event struct {
	step *step
	// t0 is when it began, until when it was watched no longer.
	t0, until time.Duration
	// back is how long it took until the plane was as it is to be and every
	// replica served; notBack says what was not so within the limit.
	back    time.Duration
	notBack string
	// change is what was changed right after it, or nil; lateChange says that it
	// was not in force within the limit.
	change     *stream.Change
	effects    []stream.Effect
	lateChange string
	// replicas are those that came.
	replicas []replica
	// sockets were open when it began; ended are those that ended meanwhile.
	sockets int
	ended   []socketEnd
	saw     usersSaw
	bins    [pictureAfter / pictureBin]bin
}

// over: it came to its end within the limit.
func (e *event) over() bool { return e.notBack == "" && e.lateChange == "" }

// A bin is the requests that were due in a step of the picture.
type bin struct{ requests, errors int }

// usersSaw is what became of requests.
type usersSaw struct {
	requests [2]int // on kept connections, on new ones
	// errors by what they were, on kept and on new connections.
	errors   [2]map[string]int
	examples []string
	// longest is the longest time in which requests that failed were due less
	// than stream.ErrorGap after each other, worst the highest share of errors in 100 ms.
	longest time.Duration
	worst   float64
}

const (
	maxExamples = 5
	// The picture shows so long after an event, in such steps.
	pictureAfter, pictureBin = 30 * time.Second, 250 * time.Millisecond
)

// take reads all hits and the ends of WebSockets, and puts each to its event.
func (k *kindSeen) take(hits []stream.Hit, ends []socketEnd, streams []stream.Stream) {
	parts := make([][]stream.Hit, len(k.events))
	var rest []stream.Hit
	for i := range hits {
		h := &hits[i]
		if h.Ended < k.ready {
			continue
		}
		if at := k.eventAt(h.Begun(), h.Ended); at >= 0 {
			parts[at] = append(parts[at], *h)
		} else {
			rest = append(rest, *h)
		}
	}
	k.rest = k.see(rest, 0, streams)
	for i := range k.events {
		e := &k.events[i]
		e.saw = k.see(parts[i], e.t0, streams)
		e.picture(parts[i], k.lanes)
	}
	for _, end := range ends {
		at := end.at.Sub(k.began)
		last := end.last.Sub(k.began)
		if i := k.eventAt(last, at); i >= 0 {
			k.events[i].ended = append(k.events[i].ended, end)
		} else if at >= k.ready {
			k.restSockets = append(k.restSockets, end)
		}
	}
}

// eventAt is the first event that was watched while something was under way,
// or -1.
func (k *kindSeen) eventAt(begun, ended time.Duration) int {
	at := sort.Search(len(k.events), func(i int) bool { return k.events[i].until >= begun })
	if at < len(k.events) && k.events[at].t0 <= ended {
		return at
	}
	return -1
}

func (k *kindSeen) see(hits []stream.Hit, t0 time.Duration, streams []stream.Stream) usersSaw {
	saw := usersSaw{errors: [2]map[string]int{{}, {}}}
	stuck := stream.Stuck(hits)
	var failed []time.Duration
	bins := map[time.Duration][2]int{}
	for i := range hits {
		h := &hits[i]
		l := k.lanes[h.Lane]
		wrong := !right(h, l.Stream)
		if wrong && h.Ours(stuck) {
			continue
		}
		saw.requests[fresh(l)]++
		b := bins[h.Due/stream.WorstBin]
		b[0]++
		if wrong {
			b[1]++
			failed = append(failed, h.Due)
			saw.errors[fresh(l)][h.What()]++
			if len(saw.examples) < maxExamples {
				saw.examples = append(saw.examples, fmt.Sprintf("%s: %s, asked for %s on %s, %s after the event began",
					k.began.Add(h.Ended).UTC().Format("15:04:05.000"), h.What(), streams[l.Stream].Name, l, (h.Ended-t0).Round(time.Millisecond)))
			}
		}
		bins[h.Due/stream.WorstBin] = b
	}
	for _, b := range bins {
		saw.worst = max(saw.worst, float64(b[1])/float64(b[0]))
	}
	saw.longest = stream.LongestRow(failed)
	return saw
}

// fresh is the place of a lane's kind of connection.
func fresh(l stream.Lane) int {
	if l.Fresh {
		return 1
	}
	return 0
}

func (e *event) picture(hits []stream.Hit, lanes []stream.Lane) {
	stuck := stream.Stuck(hits)
	for i := range hits {
		h := &hits[i]
		at := h.Due - e.t0
		wrong := !right(h, lanes[h.Lane].Stream)
		if at < 0 || at >= pictureAfter || wrong && h.Ours(stuck) {
			continue
		}
		b := &e.bins[at/pictureBin]
		if b.requests++; wrong {
			b.errors++
		}
	}
}

// failed is the number of errors.
func (s *usersSaw) failed() int { return scenario.Total(s.errors[0]) + scenario.Total(s.errors[1]) }

func (s *usersSaw) all() int { return s.requests[0] + s.requests[1] }

// early is how many wrong answers new replicas gave while users were sent to
// them, by what they were; how many of the new ones did so, and for how long at
// most.
func (e *event) early() (wrong map[string]int, replicas int, longest time.Duration) {
	wrong = map[string]int{}
	for i := range e.replicas {
		one := &e.replicas[i]
		if len(one.early) == 0 {
			continue
		}
		replicas++
		longest = max(longest, one.until.Sub(one.ready))
		for what, n := range one.early {
			wrong[what] += n
		}
	}
	return wrong, replicas, longest
}

// A stepSeen is all events of one step.
type stepSeen struct {
	*step
	kind   *kindSeen
	events []*event
}

// steps are those of all kinds that took place.
func (r *restarts) steps() []*stepSeen {
	var all []*stepSeen
	for _, k := range r.kinds {
		for i := range k.kind.steps {
			s := &stepSeen{step: &k.kind.steps[i], kind: k}
			for j := range k.events {
				if k.events[j].step == s.step {
					s.events = append(s.events, &k.events[j])
				}
			}
			if len(s.events) > 0 && k.unsupported == "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// sum adds up what users saw at all events of the step.
func (s *stepSeen) sum() usersSaw {
	all := usersSaw{errors: [2]map[string]int{{}, {}}}
	for _, e := range s.events {
		for i := range all.requests {
			all.requests[i] += e.saw.requests[i]
			for what, n := range e.saw.errors[i] {
				all.errors[i][what] += n
			}
		}
		all.examples = append(all.examples, e.saw.examples...)
		all.longest, all.worst = max(all.longest, e.saw.longest), max(all.worst, e.saw.worst)
	}
	return all
}

// both are the errors on both kinds of connection.
func (s *usersSaw) both() map[string]int {
	all := map[string]int{}
	for _, one := range s.errors {
		for what, n := range one {
			all[what] += n
		}
	}
	return all
}

// count counts the events of which something is true.
func (s *stepSeen) count(of func(*event) bool) int {
	n := 0
	for _, e := range s.events {
		if of(e) {
			n++
		}
	}
	return n
}

func (s *stepSeen) withErrors() int {
	return s.count(func(e *event) bool { return e.saw.failed() > 0 })
}

// sockets are how many were open at the beginnings of all events, and how those
// that ended did.
func (s *stepSeen) sockets() (open int, ended []socketEnd) {
	for _, e := range s.events {
		open += e.sockets
		ended = append(ended, e.ended...)
	}
	return open, ended
}

// changes are the times until what was changed was in force everywhere, in
// seconds; +Inf where it never was.
func (s *stepSeen) changes() []float64 {
	var all []float64
	for _, e := range s.events {
		if e.change != nil {
			all = append(all, seconds(stream.Everywhere(e.effects, func(e *stream.Effect) time.Duration { return e.Good })))
		}
	}
	return all
}
