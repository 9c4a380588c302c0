package routechange

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// The thresholds of the findings: what a user would notice.
const (
	// slowEffect is how long a change may take, in the median.
	slowEffect = time.Second
	// deletedPod is how long requests may still go to a pod that was deleted.
	deletedPod = time.Second
	// A change stalls traffic where more than one request in a hundred takes
	// stallRatio times the p99 between changes, and stallBy more than it. It takes
	// so many changes to tell, and no more than such a share of late requests.
	stallRatio, stallBy     = 3.0, 100 * time.Millisecond
	stallChanges, stallLate = 4, 0.01
	// closedShare is how many kept connections have to be closed at each change,
	// as a share of those that there are.
	closedShare = 0.25
)

func (r *routeChanges) findings() {
	r.findWithoutChange()
	for _, k := range r.kinds {
		if k.notServed != "" {
			r.Find("not-served-"+k.kind.name, result.Broken,
				fmt.Sprintf("the routes for the kind of change %s were not served before its first change: %s", k.kind.name, k.notServed),
				result.Evidence{Name: "answers", Text: k.notServed})
		}
	}
	for _, k := range r.changed() {
		r.findErrors(k)
		r.findNeighbour(k)
		r.findNeverInForce(k)
		r.findSlow(k)
		r.findDeletedPod(k)
		r.findStale(k)
		r.findStall(k)
		r.findClosed(k)
		r.findReplaced(k)
	}
}

// findWithoutChange: what happens without a change is nobody's doing here, and
// makes it doubtful what changes do.
func (r *routeChanges) findWithoutChange() {
	requests, errors := r.base()
	if errors == 0 {
		return
	}
	all := map[string]int{}
	var examples []string
	for _, k := range r.measured() {
		for what, n := range k.rest.errors {
			all[what] += n
		}
		if k.kind.name == controlKind {
			for what, n := range k.errors() {
				all[what] += n
			}
			examples = append(examples, k.examples()...)
		}
		examples = append(examples, k.rest.examples...)
	}
	r.Find("errors-without-change", result.Broken,
		fmt.Sprintf("while nothing was changed, users got %d %s (%s) in %d requests; errors at changes are put down to them only where there are clearly more",
			errors, scenario.Plural(errors, "error"), strings.Join(scenario.Tally(all, "%d× %s"), ", "), requests),
		result.Evidence{Name: "counts", Text: scenario.Excerpt(append(scenario.Tally(all, "%d times %s"), examples...))})
}

func (k *kindChanges) examples() []string {
	var lines []string
	for i := range k.seen {
		lines = append(lines, k.seen[i].examples...)
	}
	return lines
}

// often says how many changes there were: "10 times".
func (k *kindChanges) often() string {
	if len(k.seen) == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", len(k.seen))
}

func (r *routeChanges) findErrors(k *kindChanges) {
	errors, requests := k.errors(), k.requests()
	if n := scenario.Total(errors); n > 0 && r.beyond(k, n) {
		longest, worst := time.Duration(0), 0.0
		for i := range k.seen {
			longest, worst = max(longest, k.seen[i].longest), max(worst, k.seen[i].worst)
		}
		affected := k.affected(func(s *changeSeen) bool { return scenario.Total(s.errors) > 0 })
		r.Find("errors-"+k.kind.name, result.Broken,
			fmt.Sprintf("while %s (%s), users got %d %s (%s) in %d requests, at %d of %d changes; the longest row of errors lasted %s, and in the worst 100 ms %.0f %% of the requests failed",
				k.kind.title, k.often(), n, scenario.Plural(n, "error"), strings.Join(scenario.Tally(errors, "%d× %s"), ", "), requests, affected, len(k.seen), scenario.Seconds(longest.Seconds()), 100*worst),
			result.Evidence{Name: "first errors of each change", Text: scenario.Excerpt(k.examples())})
	}
}

func (r *routeChanges) findNeighbour(k *kindChanges) {
	errors := k.neighbourErrors()
	n := scenario.Total(errors)
	if n == 0 || !r.beyond(k, n) {
		return
	}
	affected := k.affected(func(s *changeSeen) bool { return scenario.Total(s.neighbour) > 0 })
	r.Find("neighbour-"+k.kind.name, result.Broken,
		fmt.Sprintf("while %s (%s), users of a route that nobody changed got %d %s (%s), at %d of %d changes: others suffer from the change",
			k.kind.title, k.often(), n, scenario.Plural(n, "error"), strings.Join(scenario.Tally(errors, "%d× %s"), ", "), affected, len(k.seen)),
		result.Evidence{Name: "first errors of each change", Text: scenario.Excerpt(k.examples())})
}

func (r *routeChanges) findNeverInForce(k *kindChanges) {
	var lanes []string
	never := 0
	for i := range k.seen {
		missing := k.seen[i].neverInForce()
		for _, e := range missing {
			l := k.lanes[e.Lane]
			lanes = append(lanes, fmt.Sprintf("change %d: %s, on %s", i+1, k.streams[l.Stream].Name, l))
		}
		if len(missing) > 0 {
			never++
		}
	}
	if never == 0 {
		return
	}
	rest := ""
	if len(k.seen) < k.planned {
		rest = fmt.Sprintf("; the other %d of %d planned changes were not made", k.planned-len(k.seen), k.planned)
	}
	r.Find("never-in-force-"+k.kind.name, result.Broken,
		fmt.Sprintf("while %s (%s), %d of the changes did not take effect within %s: users kept getting the old version%s",
			k.kind.title, k.often(), never, r.Values.Duration("limit"), rest),
		result.Evidence{Name: "where", Text: scenario.Excerpt(lanes)})
}

// findSlow looks at the two directions apart: a route may come soon and stay
// long after it was deleted.
func (r *routeChanges) findSlow(k *kindChanges) {
	if k.kind.lasts > 0 { // the pods' own time is in it
		return
	}
	var medians [2]float64
	for _, forward := range []bool{false, true} {
		medians[stateNumber(forward)] = stat.Summarize(k.goodSecondsOf(func(s *changeSeen) bool { return s.Forward == forward }), stat.Options{}).P50
	}
	back, forth := medians[0], medians[1]
	if !(forth > slowEffect.Seconds()) && !(back > slowEffect.Seconds()) {
		return
	}
	r.Find("slow-"+k.kind.name, result.Costly,
		fmt.Sprintf("while %s (%s), users got the old version for long: it took %s until all of them got the new one, and %s when it was changed back (medians)",
			k.kind.title, k.often(), scenario.Seconds(forth), scenario.Seconds(back)),
		result.Evidence{Name: "in force for good, everywhere, in seconds", Text: fmt.Sprintf("%.3g", k.goodSeconds())})
}

// findDeletedPod: a pod that ends is gone some time after it was told to, and
// what is sent to it then is lost.
func (r *routeChanges) findDeletedPod(k *kindChanges) {
	longest := time.Duration(0)
	for i := range k.seen {
		for _, e := range k.seen[i].effects {
			longest = max(longest, e.Old)
		}
	}
	if k.kind.lasts == 0 || longest <= deletedPod {
		return
	}
	r.Find("deleted-pod-"+k.kind.name, result.Costly,
		fmt.Sprintf("while %s (%s), requests still went to the deleted pod up to %s after it was deleted: a pod that ends sooner loses them",
			k.kind.title, k.often(), scenario.Seconds(longest.Seconds())),
		result.Evidence{Name: "last request to a deleted pod", Text: fmt.Sprintf("%s after its deletion; the backends of this trial serve for %s after theirs", longest.Round(time.Millisecond), podDrain)})
}

func (r *routeChanges) findStale(k *kindChanges) {
	n := k.stale()
	if n == 0 || k.kind.lasts > 0 { // findDeletedPod says it of pods
		return
	}
	affected := k.affected(func(s *changeSeen) bool { return s.stale > 0 })
	r.Find("stale-"+k.kind.name, result.Notable,
		fmt.Sprintf("while %s (%s), %d old answers came more than %s after the first new one of the same replica and kind of connection, at %d of %d changes",
			k.kind.title, k.often(), n, r.Values.Duration("settle"), max(affected, 1), len(k.seen)),
		result.Evidence{Name: "counts", Text: fmt.Sprintf("%d, of which %d came when the change was watched no longer, or just before", n, min(n, k.rest.stale))})
}

// findStall looks for changes that make requests wait. A busy machine makes them
// wait too, now and then: it must be so at most of the changes, and the traffic
// itself must have been on time.
func (r *routeChanges) findStall(k *kindChanges) {
	rest := stat.Summarize(r.restLatencies(), stat.Options{}).P99
	if len(k.seen) < stallChanges || math.IsNaN(rest) || k.load.LateShare() > stallLate {
		return
	}
	limit := max(stallRatio*rest, rest+stallBy.Seconds())
	stalled := k.affected(func(s *changeSeen) bool {
		slow := 0
		for _, l := range s.latencies {
			if l > limit {
				slow++
			}
		}
		return slow*100 > len(s.latencies)
	})
	if 2*stalled <= len(k.seen) {
		return
	}
	at := stat.Summarize(k.latenciesAtChange(), stat.Options{}).P99
	r.Find("stall-"+k.kind.name, result.Costly,
		fmt.Sprintf("while %s (%s), requests had to wait: at %d of %d changes more than one in a hundred took longer than %s, which one in a hundred does not take while nothing is changed (%s)",
			k.kind.title, k.often(), stalled, len(k.seen), scenario.Seconds(limit), scenario.Seconds(rest)),
		result.Evidence{Name: "p99 of the latency", Text: fmt.Sprintf("at changes %s, at rest %s", scenario.Seconds(at), scenario.Seconds(rest))})
}

// restLatencies are those between the changes of all kinds.
func (r *routeChanges) restLatencies() []float64 {
	var all []float64
	for _, k := range r.measured() {
		all = append(all, k.rest.latencies...)
	}
	return all
}

// findClosed: a closed connection costs its users a new one, and those that are
// no requests, such as WebSockets, all that they carried.
func (r *routeChanges) findClosed(k *kindChanges) {
	perChange := float64(k.load.closed) / float64(len(k.seen))
	control := 0.0
	for _, other := range r.measured() {
		if other.kind.name == controlKind {
			control = float64(other.load.closed) / float64(len(other.seen))
		}
	}
	open := float64(k.load.kept)
	if open == 0 || perChange < closedShare*open || perChange < 2*control {
		return
	}
	r.Find("closes-connections-"+k.kind.name, result.Notable,
		fmt.Sprintf("while %s (%s), the data plane closed %.0f of %.0f kept connections at each change: clients must connect again, and what lives as long as its connection, such as a WebSocket, ends",
			k.kind.title, k.often(), perChange, open),
		result.Evidence{Name: "counts", Text: fmt.Sprintf("%d connections were closed between two requests; in the control %.1f for each change", k.load.closed, control)})
}

func (r *routeChanges) findReplaced(k *kindChanges) {
	if len(k.replaced) == 0 {
		return
	}
	r.Find("replaced-"+k.kind.name, result.Costly,
		fmt.Sprintf("while %s (%s), %d %s of the data plane left its Service: the change is made by new pods (errors of the old ones are not counted)",
			k.kind.title, k.often(), len(k.replaced), scenario.Plural(len(k.replaced), "pod")),
		result.Evidence{Name: "replicas", Text: scenario.Excerpt(slices.Clone(k.replaced))})
}
