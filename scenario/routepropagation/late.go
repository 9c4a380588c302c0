package routepropagation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

const (
	// slowNoticed: who writes a route and tries it has been made to wait.
	slowNoticed = time.Second
	// trailNoticed is how long a replica may trail the first one; for so long
	// users get now the old state, now the new one. Nobody who waits a second
	// after a change is safe from what is over trailCostly.
	trailNoticed, trailCostly = 100 * time.Millisecond, time.Second
	// statusNoticed: status current this long after all traffic was right.
	statusNoticed = time.Second
)

// stableSeconds is how long after its write the route was served for good.
func (p *propagation) stableSeconds(r *propagated) float64 {
	return r.after(r.outcome.StableEverywhere(p.options().Connections))
}

func (p *propagation) findSlow() {
	s := stat.Summarize(p.collect(p.stableSeconds), stat.Options{Limit: p.Values.Duration("limit").Seconds()})
	if !(s.P50 > slowNoticed.Seconds()) {
		return
	}
	slowest := scenario.Seconds(s.Max)
	if s.Censored > 0 {
		slowest = fmt.Sprintf("over %s", p.Values.Duration("limit"))
	}
	p.Find("slow", result.Costly,
		fmt.Sprintf("a new route is served for good only %s after it was written (median of %d routes; the slowest took %s)", scenario.Seconds(s.P50), s.N+s.Censored, slowest),
		result.Evidence{Name: "served for good after the write", Text: fmt.Sprintf("min %s, median %s, slowest %s", scenario.Seconds(s.Min), scenario.Seconds(s.P50), slowest)})
}

// findLateReplicas holds the replicas against the one that is first: they may
// all be slow, and none of them late.
func (p *propagation) findLateReplicas() {
	trails := p.trails()
	var late, lines []string
	worst := 0.0
	for _, replica := range slices.Sorted(maps.Keys(trails)) {
		s := stat.Summarize(trails[replica], stat.Options{})
		lines = append(lines, fmt.Sprintf("%s: min %s, median %s, max %s (%d routes)", replica, scenario.Seconds(s.Min), scenario.Seconds(s.P50), scenario.Seconds(s.Max), s.N))
		if s.P50 > trailNoticed.Seconds() {
			late = append(late, fmt.Sprintf("%s by %s", replica, scenario.Seconds(s.P50)))
			worst = max(worst, s.P50)
		}
	}
	if len(late) == 0 {
		return
	}
	severity := result.Notable
	if worst > trailCostly.Seconds() {
		severity = result.Costly
	}
	p.Find("replica-late", severity,
		fmt.Sprintf("%d of %d replicas take a new route later than the first one: %s (medians); for so long users get now the old answer, now the new one",
			len(late), len(trails), strings.Join(late, ", ")),
		result.Evidence{Name: "first served, after the first replica", Text: strings.Join(lines, "\n")})
}

// trails is how long after the first replica each one first served a route, in
// seconds, for every route but the first that all of them served.
func (p *propagation) trails() map[string][]float64 {
	all := map[string][]float64{}
	from := min(1, len(p.routes)-1)
	for i := range p.routes[from:] {
		r := &p.routes[from+i]
		served := map[string]time.Time{}
		for j := range r.outcome.Lanes {
			replica := r.outcome.Lanes[j].Target.Name
			served[replica] = r.firstOn(replica)
		}
		first := slices.MinFunc(slices.Collect(maps.Values(served)), time.Time.Compare)
		if first.IsZero() { // one never did
			continue
		}
		for replica, at := range served {
			all[replica] = append(all[replica], at.Sub(first).Seconds())
		}
	}
	return all
}

func (p *propagation) findLateStatus() {
	lags := finite(p.collect(func(r *propagated) float64 { return r.statusSeconds() - p.stableSeconds(r) }))
	s := stat.Summarize(lags, stat.Options{})
	if !(s.P50 > statusNoticed.Seconds()) {
		return
	}
	p.Find("status-late", result.Notable,
		fmt.Sprintf("the status said only %s after every replica served a route that it was accepted, and its references resolved (median of %d routes); who waits for the status waits in vain",
			scenario.Seconds(s.P50), s.N),
		result.Evidence{Name: "status current after served for good", Text: fmt.Sprintf("min %s, median %s, max %s", scenario.Seconds(s.Min), scenario.Seconds(s.P50), scenario.Seconds(s.Max))})
}

// lacks are the routes whose status was not current within the limit.
func (p *propagation) lacks() map[string]string {
	all := map[string]string{}
	for _, r := range p.routes {
		if r.status < 0 {
			all[r.name] = r.lack
		}
	}
	return all
}
