package routechange

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// kindChanges is what was seen of one kind of change.
type kindChanges struct {
	kind    *kindOfChange
	planned int
	settle  time.Duration
	// unsupported says why the kind was not measured, notServed what was wrong
	// before its first change; empty where nothing was.
	unsupported, notServed string

	streams []stream.Stream
	lanes   []stream.Lane
	began   time.Time
	// ready is since when the state before the first change was served.
	ready   time.Duration
	changes []stream.Change

	// replaced are the replicas that were no longer there in the end.
	replaced []string
	load     loadTotals

	seen []changeSeen
	rest restSeen
	bins [pictureAfter / pictureBin]pictureStep
}

// loadTotals is what the attacks say of themselves.
type loadTotals struct {
	stream.Totals
	// kept is how many connections were kept open at a time, closed how many of
	// them the data plane closed between two requests.
	kept, closed int64
}

// A changeSeen is what users saw of one change, from the write until it was
// watched no longer.
type changeSeen struct {
	*stream.Change
	requests int
	// errors of the streams of the kind, and of its neighbour, by what they were.
	errors, neighbour map[string]int
	examples          []string
	// longest is the longest time in which errors followed each other at less
	// than stream.ErrorGap, worst the highest share of errors in 100 ms.
	longest time.Duration
	worst   float64
	// latencies of complete answers, from when the request was due.
	latencies []float64
	effects   []stream.Effect
	// stale counts old answers long after new ones.
	stale int
}

// restSeen is what users saw between changes.
type restSeen struct {
	requests  int
	errors    map[string]int
	examples  []string
	stale     int // answers that were right before the last change only
	latencies []float64
}

// maxExamples bounds the examples of one change.
const maxExamples = 5

// take reads all hits, and forgets them.
func (k *kindChanges) take(hits []stream.Hit, gone map[string]bool) {
	for i := range k.lanes {
		if gone[k.lanes[i].Replica] {
			k.lanes[i].Gone = true
		}
	}
	k.replaced = slices.Sorted(maps.Keys(gone))
	parts := make([][]stream.Hit, len(k.changes))
	k.rest.errors = map[string]int{}
	for i := range hits {
		h := &hits[i]
		if h.Ended < k.ready || k.lanes[h.Lane].Gone {
			continue
		}
		if at := k.changeOf(h); at >= 0 {
			parts[at] = append(parts[at], *h)
		} else {
			k.takeRest(h)
		}
	}
	for i := range k.changes {
		k.seen = append(k.seen, k.see(&k.changes[i], parts[i]))
	}
}

// changeOf is the first change that was watched while the request was under
// way, or -1. A request that was sent before a write and ended after it may have
// suffered from it.
func (k *kindChanges) changeOf(h *stream.Hit) int {
	begun := h.Begun()
	at := sort.Search(len(k.changes), func(i int) bool { return k.changes[i].Until >= begun })
	if at < len(k.changes) && k.changes[at].T0 <= h.Ended {
		return at
	}
	return -1
}

// tell says what a request shows of a change. One that was still under way at
// the next change may show what is right then, too.
func (k *kindChanges) tell(h *stream.Hit, c *stream.Change) stream.Shown {
	l := k.lanes[h.Lane]
	shows := stream.Tell(h, l.Fresh, c.Before[l.Stream], c.After[l.Stream])
	for i := range k.changes {
		next := &k.changes[i]
		if next.T0 <= c.T0 || next.T0 > h.Ended {
			continue
		}
		if stream.Tell(h, l.Fresh, next.Before[l.Stream], next.After[l.Stream]) != stream.ShowsWrong {
			return stream.ShowsEither
		}
	}
	return shows
}

func (k *kindChanges) takeRest(h *stream.Hit) {
	l := k.lanes[h.Lane]
	before, after := k.restRights(h, l)
	switch stream.Tell(h, l.Fresh, before, after) {
	case stream.ShowsNothing:
		return
	case stream.ShowsWrong:
		k.rest.errors[h.What()]++
		if len(k.rest.examples) < maxExamples {
			k.rest.examples = append(k.rest.examples, k.kind.name+", "+k.example(h, l, k.afterChange(h)))
		}
	case stream.ShowsOld:
		k.rest.stale++
	}
	k.rest.requests++
	if h.Status != 0 {
		k.rest.latencies = append(k.rest.latencies, (h.Ended - h.Due).Seconds())
	}
}

// restRights is what is right between two changes: what is right after the
// last one. What was right before it is no error either, but stale.
func (k *kindChanges) restRights(h *stream.Hit, l stream.Lane) (before, after stream.Answer) {
	next := sort.Search(len(k.changes), func(i int) bool { return k.changes[i].T0 > h.Begun() })
	switch {
	case next > 0:
		c := &k.changes[next-1]
		return c.Before[l.Stream], c.After[l.Stream]
	case len(k.changes) > 0:
		return k.changes[0].Before[l.Stream], k.changes[0].Before[l.Stream]
	}
	return k.streams[l.Stream].Before, k.streams[l.Stream].Before
}

// see reads the hits of one change.
func (k *kindChanges) see(c *stream.Change, hits []stream.Hit) changeSeen {
	seen := changeSeen{Change: c, errors: map[string]int{}, neighbour: map[string]int{}}
	var failed []time.Duration
	bins := map[time.Duration][2]int{}
	for i := range hits {
		h := &hits[i]
		l := k.lanes[h.Lane]
		shows := k.tell(h, c)
		if shows == stream.ShowsNothing {
			continue
		}
		seen.requests++
		k.picture(h, h.Due-c.T0, shows)
		if h.Status != 0 {
			seen.latencies = append(seen.latencies, (h.Ended - h.Due).Seconds())
		}
		bin := bins[(h.Due-c.T0)/stream.WorstBin]
		bin[0]++
		if shows == stream.ShowsWrong {
			bin[1]++
			failed = append(failed, h.Ended)
			k.takeError(&seen, h, l)
		}
		bins[(h.Due-c.T0)/stream.WorstBin] = bin
	}
	seen.longest = stream.LongestRow(failed)
	for _, bin := range bins {
		seen.worst = max(seen.worst, float64(bin[1])/float64(bin[0]))
	}
	within := slices.DeleteFunc(hits, func(h stream.Hit) bool { return h.Ended > c.Until })
	seen.effects = stream.Effects(k.lanes, within, c, k.settle)
	for i := range seen.effects {
		seen.stale += seen.effects[i].Stale
	}
	return seen
}

// picture counts a request in the step in which it was due.
func (k *kindChanges) picture(h *stream.Hit, due time.Duration, s stream.Shown) {
	if due < 0 || due >= pictureAfter {
		return
	}
	step := &k.bins[due/pictureBin]
	step.requests++
	if s == stream.ShowsWrong {
		step.errors++
	}
	if h.Status != 0 {
		step.slowest = max(step.slowest, (h.Ended - h.Due).Seconds())
	}
}

func (k *kindChanges) takeError(seen *changeSeen, h *stream.Hit, l stream.Lane) {
	if k.isNeighbour(l) {
		seen.neighbour[h.What()]++
	} else {
		seen.errors[h.What()]++
	}
	if len(seen.examples) < maxExamples {
		seen.examples = append(seen.examples, k.example(h, l, fmt.Sprintf("%s after the write", (h.Ended-seen.T0).Round(100*time.Microsecond))))
	}
}

// example says what became of a request, and when.
func (k *kindChanges) example(h *stream.Hit, l stream.Lane, when string) string {
	return fmt.Sprintf("%s: %s, asked for %s on %s, %s", k.began.Add(h.Ended).UTC().Format("15:04:05.000"), h.What(), k.streams[l.Stream].Name, l, when)
}

// afterChange says how long after the last change a request ended.
func (k *kindChanges) afterChange(h *stream.Hit) string {
	for _, c := range slices.Backward(k.changes) {
		if c.T0 <= h.Ended {
			return fmt.Sprintf("%s after the last change", (h.Ended - c.T0).Round(time.Millisecond))
		}
	}
	return fmt.Sprintf("%s after the state before was there", (h.Ended - k.ready).Round(time.Millisecond))
}

// isNeighbour reports whether the lane is of the route that nobody changed.
func (k *kindChanges) isNeighbour(l stream.Lane) bool {
	return l.Stream == len(k.streams)-1 && k.kind.name != controlKind
}

// neverInForce lists the effects that did not come.
func (s *changeSeen) neverInForce() []stream.Effect {
	return slices.DeleteFunc(slices.Clone(s.effects), func(e stream.Effect) bool { return e.Good >= 0 })
}

// failed is the number of errors of one change, its neighbour's among them.
func (s *changeSeen) failed() int { return scenario.Total(s.errors) + scenario.Total(s.neighbour) }

// sum adds up counts over all changes.
func (k *kindChanges) sum(of func(*changeSeen) map[string]int) map[string]int {
	all := map[string]int{}
	for i := range k.seen {
		for what, n := range of(&k.seen[i]) {
			all[what] += n
		}
	}
	return all
}

func (k *kindChanges) errors() map[string]int {
	return k.sum(func(s *changeSeen) map[string]int { return s.errors })
}

func (k *kindChanges) neighbourErrors() map[string]int {
	return k.sum(func(s *changeSeen) map[string]int { return s.neighbour })
}

// requests is how many there were during changes.
func (k *kindChanges) requests() int {
	n := 0
	for i := range k.seen {
		n += k.seen[i].requests
	}
	return n
}

// affected counts the changes at which something was not as it should be.
func (k *kindChanges) affected(by func(*changeSeen) bool) int {
	n := 0
	for i := range k.seen {
		if by(&k.seen[i]) {
			n++
		}
	}
	return n
}

func (k *kindChanges) withErrors() int {
	return k.affected(func(s *changeSeen) bool { return s.failed() > 0 })
}

// goodSeconds are the times until each visible change was in force for good,
// everywhere; +Inf where it never was.
func (k *kindChanges) goodSeconds() []float64 {
	return k.goodSecondsOf(func(*changeSeen) bool { return true })
}

// goodSecondsOf are those of some changes.
func (k *kindChanges) goodSecondsOf(these func(*changeSeen) bool) []float64 {
	var all []float64
	for i := range k.seen {
		if len(k.seen[i].effects) > 0 && these(&k.seen[i]) {
			all = append(all, inSeconds(stream.Everywhere(k.seen[i].effects, func(e *stream.Effect) time.Duration { return e.Good })))
		}
	}
	return all
}

// latenciesAtChange are those of all changes.
func (k *kindChanges) latenciesAtChange() []float64 {
	var all []float64
	for i := range k.seen {
		all = append(all, k.seen[i].latencies...)
	}
	return all
}

// errorsID is the finding that an error on a lane belongs to.
func (k *kindChanges) errorsID(l stream.Lane) string {
	switch {
	case k.kind.name == controlKind:
		return "errors-without-change"
	case k.isNeighbour(l):
		return "neighbour-" + k.kind.name
	}
	return "errors-" + k.kind.name
}

// add takes what the attacks say of themselves.
func (t *loadTotals) add(results []*load.Result) {
	if len(results) == 0 {
		return
	}
	t.Totals.Add(results)
	// The first attack keeps its connections.
	t.kept, t.closed = int64(results[0].Connections), results[0].IdleCloses
}
