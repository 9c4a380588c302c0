package capacity

import (
	"fmt"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// The thresholds of the findings.
const (
	// lowShare of what a gateway carries is little: nothing may fail there.
	lowShare = 0.5
	// farAbove is how many times the answer may be answered well in a step that is
	// not carried: with more, something else than load makes requests fail.
	farAbove = 1.5
	// collapsed is the share of its capacity that a gateway answers well when it
	// is asked for more.
	collapsed = 0.7
	// The data plane uses one core where it uses between these at its capacity,
	// while at least an idle core is left on a node with as many as it takes to
	// tell, and no limit holds it to that.
	oneCoreLeast, oneCoreMost, idleCores = 0.8, 1.2, 1.0
	oneCoreCPUs                          = 4
)

func (c *capacity) findings(a answer, lasted *try) {
	c.findRestarts(a)
	c.findErrors(a)
	c.findSlow(a)
	c.findLost()
	c.findCollapse(a)
	c.findOneCore(a, lasted)
	if !a.verdict.Valid() {
		c.Find("no-capacity", result.Info, "the answer is no capacity: "+a.words(), result.Evidence{Name: "steps that were no evidence", Text: c.excerpt(func(o *try) bool { return !o.Verdict.Valid() })})
	}
}

// excerpt are steps as evidence, a line each.
func (c *capacity) excerpt(want func(*try) bool) string {
	var lines []string
	for i, one := range c.tries {
		if want(one) {
			lines = append(lines, fmt.Sprintf("step %d, %s: %s: %s", i+1, one.step, one.Verdict, strings.Join(one.Reasons, "; ")))
		}
	}
	return scenario.Excerpt(lines)
}

// findRestarts: a gateway that load ends serves nobody.
func (c *capacity) findRestarts(a answer) {
	lowest, n := 0, 0
	for _, one := range c.tries {
		if len(one.restarts) > 0 && one.stage != direct {
			if n++; lowest == 0 || one.rate < lowest {
				lowest = one.rate
			}
		}
	}
	if n == 0 {
		return
	}
	c.Find("restarted", result.Broken,
		fmt.Sprintf("the data plane was killed or restarted under load, in %d of %d steps, at %d requests/s and above: more load than it carries ends it, and with it the connections of all users",
			n, len(c.tries), lowest),
		result.Evidence{Name: "what happened", Text: c.excerpt(func(o *try) bool { return len(o.restarts) > 0 })})
}

// idle reports whether it is not for want of capacity that requests failed in a
// step: far more than the answer was answered well in it, or little was asked.
func (c *capacity) idle(a answer, one *try) bool {
	if one.stage == direct || !one.Verdict.Valid() {
		return false
	}
	return float64(one.rate) <= lowShare*float64(a.carried) || one.goodput() > farAbove*float64(a.rate)
}

// goodput is how many requests were answered well in a second.
func (one *try) goodput() float64 {
	return float64(one.Counts.Requests()-int64(scenario.Total(failures(one.Seen)))) / one.Result.Seconds
}

// findErrors: what fails where little is asked is not for want of capacity.
func (c *capacity) findErrors(a answer) {
	errors, requests, lowest := map[string]int{}, int64(0), 0
	for _, one := range c.tries {
		if !c.idle(a, one) {
			continue
		}
		requests += one.Counts.Requests()
		for class, n := range one.Counts.Errors() {
			if !class.Ours() && n > 0 {
				errors[class.String()] += int(n)
				if lowest == 0 || one.rate < lowest {
					lowest = one.rate
				}
			}
		}
	}
	if len(errors) == 0 {
		return
	}
	c.Find("errors", result.Broken,
		fmt.Sprintf("requests fail though the gateway is not at its limit: from %d requests/s on, %d of %d failed (%s), while up to %.0f/s were answered well",
			lowest, scenario.Total(errors), requests, strings.Join(scenario.Tally(errors, "%d× %s"), ", "), c.best()),
		result.Evidence{Name: "steps in which it was not at its limit", Text: c.excerpt(func(o *try) bool { return c.idle(a, o) })})
}

// best is how many requests a second were answered well at best.
func (c *capacity) best() (most float64) {
	for _, one := range c.tries {
		if one.stage != direct && one.Verdict.Valid() {
			most = max(most, one.goodput())
		}
	}
	return most
}

// findSlow: nothing fails, and no rate is answered soon enough.
func (c *capacity) findSlow(a answer) {
	if a.verdict != attack.NotCarried || a.carried > 0 {
		return
	}
	last := c.tries[len(c.tries)-1]
	if scenario.Total(failures(last.Seen)) > 0 || last.Result.Latency == nil {
		return
	}
	c.Find("slow", result.Costly,
		fmt.Sprintf("even at %d requests/s, the lowest rate that was tried, p99 is %s, and not below %s", last.rate, scenario.Seconds(last.Result.Latency.P99), c.Values.Duration("p99")),
		result.Evidence{Name: "steps", Text: c.excerpt(func(*try) bool { return true })})
}

// findLost holds what was answered well against what came to the receivers.
func (c *capacity) findLost() {
	var lost, more, sent int64
	var lostLines, moreLines []string
	for i, one := range c.tries {
		came, ok := c.came[one.source]
		if !ok || one.stage == direct {
			continue
		}
		sent += one.Sent
		if n := one.well - came.once; n > 0 {
			lost += n
			lostLines = append(lostLines, fmt.Sprintf("step %d, %s: %d were answered well, and %d different ones came", i+1, one.step, one.well, came.once))
		}
		if came.more > 0 {
			more += came.more
			moreLines = append(moreLines, fmt.Sprintf("step %d, %s: %d of %d came more than once", i+1, one.step, came.more, one.Sent))
		}
	}
	if lost > 0 {
		c.Find("lost-events", result.Broken, fmt.Sprintf("at least %d of %d events were answered well and came to no receiver", lost, sent),
			result.Evidence{Name: "counted by the receivers", Text: scenario.Excerpt(lostLines)})
	}
	if more > 0 {
		c.Find("repeated-events", result.Costly, fmt.Sprintf("%d of %d events came to receivers more than once, though each was sent once: POSTs are sent again by the gateway", more, sent),
			result.Evidence{Name: "counted by the receivers", Text: scenario.Excerpt(moreLines)})
	}
}

// findCollapse looks at the highest rate that was asked for: who is asked for
// too much should still do what they can.
func (c *capacity) findCollapse(a answer) {
	if !a.isCapacity() {
		return
	}
	var worst *try
	share := 0.0
	for _, one := range c.tries {
		if one.stage == direct || one.Verdict != attack.NotCarried || one.rate <= a.rate {
			continue
		}
		if s := one.goodput() / float64(a.rate); worst == nil || s < share {
			worst, share = one, s
		}
	}
	if worst == nil || share >= collapsed {
		return
	}
	c.Find("collapses", result.Costly,
		fmt.Sprintf("asked for %d requests/s, the gateway answers %.0f %% of its capacity of %d requests/s well: more load than it carries costs the users that it could serve, too", worst.rate, 100*share, a.rate),
		result.Evidence{Name: "steps above the capacity", Text: c.excerpt(func(o *try) bool { return o.rate > a.rate && o.Verdict == attack.NotCarried })})
}

// findOneCore: the capacity is one core's, while others idle.
func (c *capacity) findOneCore(a answer, lasted *try) {
	if !a.isCapacity() || lasted == nil || c.Meter == nil || c.first.limited() || len(c.first) > 1 {
		return
	}
	if c.CPUs < oneCoreCPUs {
		c.Note("Whether the data plane can use more than one core cannot be told on %d CPUs, which it shares with attackers and receivers: it takes %d.", c.CPUs, oneCoreCPUs)
		return
	}
	cores, idle := lasted.Use.Gateway()/lasted.Use.Seconds, float64(c.CPUs)-lasted.Use.All/lasted.Use.Seconds
	if !(cores >= oneCoreLeast && cores <= oneCoreMost && idle >= idleCores) {
		return
	}
	c.Find("one-core", result.Costly,
		fmt.Sprintf("the capacity of %d requests/s is that of one core: the data plane uses %.2f CPUs there, while %.2f of %d are idle and no limit holds it to that", a.rate, cores, idle, c.CPUs),
		result.Evidence{Name: "CPU time", Text: fmt.Sprintf("data plane %.2f CPUs, all %.2f of %d", cores, lasted.Use.All/lasted.Use.Seconds, c.CPUs)})
}

// limited reports whether a limit on CPU holds any of them.
func (p pods) limited() bool {
	for _, pod := range p {
		for _, container := range pod.Spec.Containers {
			if !container.Resources.Limits.Cpu().IsZero() {
				return true
			}
		}
	}
	return false
}
