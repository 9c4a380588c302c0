package routepropagation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/stat"
)

// The thresholds of the findings. They are about what a user would notice, not
// about what can be measured.
const (
	// flapNoticed: old answers for longer than this after the first right one
	// are more than workers of one replica taking turns.
	flapNoticed = 50 * time.Millisecond
	// growthNoticed is the ratio of the medians of the last and the first
	// tenth of the routes, growthNoticedBy the least that they differ by.
	growthNoticed   = 2.0
	growthNoticedBy = 20 * time.Millisecond
	growthRoutes    = 100
	// leadNoticed: status current this long before traffic follows.
	leadNoticed = 50 * time.Millisecond
	// firstNoticed is how many times slower than the median the first route
	// may be, and by how much at least.
	firstNoticed, firstNoticedBy = 3.0, 250 * time.Millisecond
)

func (p *propagation) findings() {
	p.findCensored()
	p.findCeiling()
	p.findErrors()
	p.findErrorsAtRest()
	p.findMisrouted()
	p.findFlaps()
	p.findSlow()
	p.findSlowAnswers()
	p.findLateReplicas()
	p.findStatusLead()
	p.findLateStatus()
	p.FindUnaccepted(p.lacks(), len(p.routes), p.Values.Duration("limit"))
	p.findGrowth()
	p.findFirstRoute()
}

func (p *propagation) findCensored() {
	var names []string
	accepted := 0
	var lanes []string
	for i := range p.routes {
		r := &p.routes[i]
		if censored := r.outcome.Censored(); len(censored) > 0 {
			names = append(names, r.name)
			lanes = append(lanes, fmt.Sprintf("%s: %s", r.name, strings.Join(censored, ", ")))
			if r.status >= 0 {
				accepted++
			}
		}
	}
	if len(names) == 0 {
		return
	}
	p.Find("never-served", result.Broken,
		fmt.Sprintf("%d of %d new routes were not served for good within %s; the status of %d of these said that they were accepted",
			len(names), len(p.routes), p.Values.Duration("limit"), accepted),
		result.Evidence{Name: "routes, replicas and connections", Text: scenario.Excerpt(lanes)})
}

func (p *propagation) findErrors() {
	total := p.total()
	if total.ErrorCount() == 0 {
		return
	}
	routes := 0
	for i := range p.routes {
		c := p.routes[i].outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
		if c.ErrorCount() > 0 {
			routes++
		}
	}
	p.Find("errors", result.Broken,
		fmt.Sprintf("while new routes came into force, users got %d errors (%s) in %d probes, at %d of %d routes; only %s until it is served, and the right answer from then on, would be correct",
			total.ErrorCount(), classes(total), total.Sent, routes, len(p.routes), p.route().Unserved),
		result.Evidence{Name: "first errors of each replica and kind of connection", Text: scenario.Excerpt(examples(rows(p.routes)))})
}

// examples are the first errors, in words.
func examples(changes []*propagated) []string {
	var lines []string
	for _, r := range changes {
		for j := range r.outcome.Lanes {
			lane := &r.outcome.Lanes[j]
			for _, e := range lane.Examples {
				what := e.Class.String()
				if e.Status != 0 {
					what = fmt.Sprintf("status %d", e.Status)
				}
				line := fmt.Sprintf("%s %s, %s after the write: %s", r.name, lane, e.At.Round(10*time.Microsecond), what)
				if e.Text != "" {
					line += ", " + e.Text
				}
				lines = append(lines, fmt.Sprintf("%s (at %s)", line, r.at.Add(e.At).UTC().Format("15:04:05.000")))
			}
		}
	}
	return lines
}

func (p *propagation) findMisrouted() {
	counts := map[string]int{}
	n := 0
	for _, r := range p.all() {
		for i := range r.outcome.Lanes {
			for from, k := range r.outcome.Lanes[i].Misrouted {
				counts[fmt.Sprintf("%s was answered by %s", r.name, from)] += k
				n += k
			}
		}
	}
	if n == 0 {
		return
	}
	p.Find("misrouted", result.Broken,
		fmt.Sprintf("%d answers came from another route than the one asked for", n),
		result.Evidence{Name: "who answered", Text: scenario.Excerpt(scenario.Tally(counts, "%d times %s"))})
}

func (p *propagation) findFlaps() {
	var lines []string
	routes := map[string]bool{}
	longest := time.Duration(0)
	for i := range p.routes {
		r := &p.routes[i]
		for j := range r.outcome.Lanes {
			lane := &r.outcome.Lanes[j]
			if lane.Flaps == 0 {
				continue
			}
			routes[r.name] = true
			end := lane.Stable.By
			if !lane.Stable.Seen() {
				end = r.outcome.Ended
			}
			longest = max(longest, end.Sub(lane.First.By))
			lines = append(lines, fmt.Sprintf("%s %s: %d old answers after the first right one", r.name, lane, lane.Flaps))
		}
	}
	if len(lines) == 0 {
		return
	}
	severity := result.Info
	if longest > flapNoticed {
		severity = result.Notable
	}
	p.Find("flaps", severity,
		fmt.Sprintf("at %d of %d routes a replica that had served the new route answered %s again, for at most %s: parts of a replica take the change at different times",
			len(routes), len(p.routes), p.route().Unserved, longest.Round(100*time.Microsecond)),
		result.Evidence{Name: "counts", Text: scenario.Excerpt(lines)})
}

func (p *propagation) findStatusLead() {
	var leads []float64
	for i := range p.routes {
		r := &p.routes[i]
		leads = append(leads, p.stableSeconds(r)-r.statusSeconds())
	}
	s := stat.Summarize(finite(leads), stat.Options{})
	if s.N == 0 || !(s.P50 > leadNoticed.Seconds()) {
		return
	}
	p.Find("status-early", result.Notable,
		fmt.Sprintf("the status said that a route was accepted, and its references resolved, %s before every replica served it (median of %d routes); who waits for the status sends traffic too early",
			scenario.Seconds(s.P50), s.N),
		result.Evidence{Name: "served for good after status was current", Text: fmt.Sprintf("min %s, median %s, max %s", scenario.Seconds(s.Min), scenario.Seconds(s.P50), scenario.Seconds(s.Max))})
}

func (p *propagation) findGrowth() {
	n := len(p.routes)
	if n < growthRoutes {
		return
	}
	tenth := func(from int) float64 {
		var all []float64
		for i := from; i < from+n/10; i++ {
			all = append(all, p.stableSeconds(&p.routes[i]))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	first, last := tenth(1), tenth(n-n/10)
	if math.IsInf(first, 0) || !(last >= growthNoticed*first && last >= first+growthNoticedBy.Seconds()) {
		return
	}
	p.Find("grows", result.Costly,
		fmt.Sprintf("a new route takes longer the more routes there are: %s among the first %d, %s among the last of %d (medians)",
			scenario.Seconds(first), n/10, scenario.Seconds(last), n),
		result.Evidence{Name: "medians", Text: fmt.Sprintf("routes 2 to %d: %s; routes %d to %d: %s", n/10+1, scenario.Seconds(first), n-n/10+1, n, scenario.Seconds(last))})
}

func (p *propagation) findFirstRoute() {
	first := p.stableSeconds(&p.routes[0])
	rest := p.collect(p.stableSeconds)
	s := stat.Summarize(rest, stat.Options{})
	if len(p.routes) < 2 || math.IsInf(first, 0) || math.IsNaN(s.P50) || first < firstNoticed*s.P50 || first < s.P50+firstNoticedBy.Seconds() {
		return
	}
	p.Find("first-route", result.Info,
		fmt.Sprintf("the first route of a Gateway took %s to be served for good, later ones %s (median)", scenario.Seconds(first), scenario.Seconds(s.P50)),
		result.Evidence{Name: "first route", Text: fmt.Sprintf("%s, median of the other %d: %s", scenario.Seconds(first), len(rest), scenario.Seconds(s.P50))})
}

// classes lists errors by class; answers with a wrong status by that status.
func classes(c probe.Counts) string {
	counts := map[string]int{}
	for class, n := range c.Errors {
		if class < load.Status3xx || class > load.StatusOther {
			counts[class.String()] = n
		}
	}
	for status, n := range c.Status {
		if status != 200 && status != 404 {
			counts[fmt.Sprintf("status %d", status)] = n
		}
	}
	return strings.Join(scenario.Tally(counts, "%d× %s"), ", ")
}
