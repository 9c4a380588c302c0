package routepropagation

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

func (p *propagation) changeFindings() {
	p.findShapes()
	p.findIgnored()
	p.findChangeErrors()
	p.findSlowChanges()
	p.findChangeFlaps()
}

// findShapes looks for shapes of which no route is ever served, where others
// are.
func (p *propagation) findShapes() {
	var never, served, lines []string
	for _, name := range p.Values.List("shapes", shapeNames(p.route())) {
		made := p.shaped(name)
		switch n := inForce(made); {
		case len(made) == 0:
		case n > 0:
			served = append(served, name)
		default:
			never = append(never, name)
			accepted := 0
			for _, r := range made {
				if r.status >= 0 {
					accepted++
				}
			}
			lines = append(lines, fmt.Sprintf("%s: %d routes, accepted by their status: %d", name, len(made), accepted))
		}
	}
	if len(never) == 0 || len(served) == 0 {
		return
	}
	p.Find("shape-never-served", result.Broken,
		fmt.Sprintf("no route that matches by %s was ever served, while routes that match by %s were", strings.Join(never, " or by "), strings.Join(served, " or by ")),
		result.Evidence{Name: "routes", Text: strings.Join(lines, "\n")})
}

// findIgnored looks for changes that did not come into force.
func (p *propagation) findIgnored() {
	var parts, lines []string
	made, accepted, silent := 0, 0, 0
	for _, k := range changeKinds[1:] {
		all := p.of(k.name)
		if n := len(all) - inForce(all); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", n, len(all), k.plural))
		}
		for _, r := range all {
			censored := r.outcome.Censored()
			if len(censored) == 0 {
				continue
			}
			made++
			switch {
			case r.silent:
				silent++
			case r.status >= 0:
				accepted++
			}
			lines = append(lines, fmt.Sprintf("%s, %s: %s", r.kind, r.name, strings.Join(censored, ", ")))
		}
	}
	if made == 0 && len(p.unready) == 0 {
		return
	}
	var texts []string
	if made > 0 {
		text := fmt.Sprintf("changes were not in force for good on every replica within %s: %s", p.Values.Duration("limit"), strings.Join(parts, ", "))
		if made > silent {
			text += fmt.Sprintf("; the status of %d of %d changed routes said that they were accepted", accepted, made-silent)
		}
		texts = append(texts, text)
	}
	if n := len(p.unready); n > 0 {
		texts = append(texts, fmt.Sprintf("%d %s could not be changed: within %s not every replica served it as it had been written", n, scenario.Plural(n, "route"), p.Values.Duration("limit")))
	}
	p.Find("change-ignored", result.Broken, strings.Join(texts, "; "),
		result.Evidence{Name: "changes, replicas and connections", Text: scenario.Excerpt(append(lines, p.unready...))})
}

// findChangeErrors looks for answers that were right neither before nor after.
func (p *propagation) findChangeErrors() {
	var parts []string
	for _, k := range changeKinds[1:] {
		made := p.of(k.name)
		affected := 0
		for _, r := range made {
			if c := r.errors(); c.ErrorCount() > 0 {
				affected++
			}
		}
		if affected > 0 {
			total := sum(made)
			parts = append(parts, fmt.Sprintf("%d (%s) in %d probes at %d of %d %s", total.ErrorCount(), wrongAnswers(made), total.Sent, affected, len(made), k.plural))
		}
	}
	if len(parts) == 0 {
		return
	}
	p.Find("change-errors", result.Broken, "users got errors while changes came into force: "+strings.Join(parts, ", "),
		result.Evidence{Name: "first errors of each replica and kind of connection", Text: scenario.Excerpt(examples(rows(p.changes)))})
}

// findSlowChanges looks for kinds of which the median change is as slow as new
// routes may not be. What should be gone and is served on gets a finding of its own.
func (p *propagation) findSlowChanges() {
	both := p.options().Connections
	var slow []string
	for _, k := range changeKinds[1:] {
		made := p.of(k.name)
		times := middle(each(made, func(r *propagated) float64 { return r.after(r.outcome.StableEverywhere(both)) }))
		if inForce(made) == 0 || !(times.median > slowNoticed.Seconds()) {
			continue // none, never (which is a finding by itself), or soon enough
		}
		evidence := result.Evidence{Name: "in force on every replica, since the write", Text: fmt.Sprintf("%s: least %s, median %s, most %s of %d",
			k.name, scenario.Seconds(times.least), scenario.Seconds(times.median), scenario.Seconds(times.most), len(made))}
		switch k.name {
		case kindDelete:
			p.Find("deleted-served", result.Costly, fmt.Sprintf("a route that was deleted went on being served for %s (median of %d)", scenario.Seconds(times.median), len(made)), evidence)
		case kindEndpointRemoved:
			p.Find("removed-endpoint-used", result.Costly, fmt.Sprintf("an endpoint that was removed from a backend still got requests for %s (median of %d)", scenario.Seconds(times.median), len(made)), evidence)
		default:
			slow = append(slow, fmt.Sprintf("%s for %s (median of %d)", scenario.Seconds(times.median), k.plural, len(made)))
		}
	}
	if len(slow) > 0 {
		p.Find("change-slow", result.Costly, "it takes long until changes are in force on every replica: "+strings.Join(slow, ", "),
			result.Evidence{Name: "kinds of change", Text: strings.Join(slow, "\n")})
	}
}

// findChangeFlaps looks for old answers after new ones.
func (p *propagation) findChangeFlaps() {
	var lines []string
	affected, longest := 0, time.Duration(0)
	for i := range p.changes {
		r := &p.changes[i]
		if r.flaps() == 0 {
			continue
		}
		affected++
		for j := range r.outcome.Lanes {
			lane := &r.outcome.Lanes[j]
			if lane.Flaps == 0 {
				continue
			}
			end := lane.Stable.By
			if !lane.Stable.Seen() {
				end = r.outcome.Ended
			}
			longest = max(longest, end.Sub(lane.First.By))
			lines = append(lines, fmt.Sprintf("%s, %s %s: %d old answers after the first new one", r.kind, r.name, lane, lane.Flaps))
		}
	}
	if affected == 0 {
		return
	}
	severity := result.Info
	if longest > flapNoticed {
		severity = result.Notable
	}
	p.Find("change-flaps", severity,
		fmt.Sprintf("at %d of %d changes a replica that had answered as changed answered as before again, for at most %s", affected, len(p.changes), longest.Round(100*time.Microsecond)),
		result.Evidence{Name: "counts", Text: scenario.Excerpt(lines)})
}
