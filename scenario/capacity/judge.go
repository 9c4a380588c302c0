package capacity

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// criteria are what a step must meet for its rate to be carried.
type criteria struct {
	p99     time.Duration
	success float64 // of a hundred requests
}

// Limits beyond which a step that failed is the attackers' own. That they were
// late is counted in the latency, which may be far longer than they were: a step
// that is carried is carried.
const (
	busyLimit = 0.8
	lateLimit = 0.1
)

// growsLimit is the share of a rate that may lack an answer at the end of a step,
// beyond what its usual latency explains: with more the queue grows, and it is a
// matter of time until it is too long.
const growsLimit = 0.01

// judge gives a step its verdict. cpus are those of the receivers' nodes.
func (one *try) judge(want criteria, cpus int) {
	one.Verdict, one.Reasons = attack.Fine, nil
	unmet := want.unmet(one.Seen)
	ours := one.attackers(len(unmet) > 0)
	switch {
	case len(one.restarts) > 0:
		one.Verdict, one.Reasons = gatewayRestarted, one.restarts
	case len(ours) > 0:
		one.Verdict, one.Reasons = attack.AttackerLimited, ours
	case len(unmet) > 0:
		if one.JudgeAround(cpus); one.Verdict == attack.Fine {
			one.Verdict, one.Reasons = attack.NotCarried, unmet
		}
	}
}

// attackers says why a step is theirs.
func (one *try) attackers(failed bool) (reasons []string) {
	r := one.Result
	if r.Self.ClockSteps > 0 {
		reasons = append(reasons, "the real-time clock was set meanwhile")
	}
	if !failed {
		return reasons
	}
	if r.Self.Exhausted > 0 {
		reasons = append(reasons, "no local port or descriptor was left for a connection")
	}
	if r.Self.BusiestLoop > busyLimit {
		reasons = append(reasons, fmt.Sprintf("an event loop used %.0f %% of its CPU, limit %.0f %%", 100*r.Self.BusiestLoop, 100*busyLimit))
	}
	if late := float64(r.Late) / float64(max(r.Requests, 1)); late > lateLimit {
		reasons = append(reasons, fmt.Sprintf("%.0f %% of requests were sent more than 1 ms late, limit %.0f %%", 100*late, 100*lateLimit))
	}
	return reasons
}

// unmet says what of the criteria a measurement does not meet.
func (want criteria) unmet(m *attack.Seen) (reasons []string) {
	all, failed := m.Counts.Requests(), failures(m)
	n := int64(scenario.Total(failed))
	if float64(n) > float64(all)*(1-want.success/100)+1e-6 {
		reasons = append(reasons, fmt.Sprintf("%d of %d requests failed (%s)", n, all, strings.Join(scenario.Tally(failed, "%d× %s"), ", ")))
	}
	l := m.Result.Latency
	if l == nil {
		return append(reasons, "no request was answered well")
	}
	if l.P99 >= want.p99.Seconds() {
		reasons = append(reasons, fmt.Sprintf("p99 is %s, want below %s", scenario.Seconds(l.P99), want.p99))
	}
	if missing := 1 - m.Result.AchievedRate/m.Result.RequestedRate; missing > growsLimit+l.P50/m.Result.Seconds {
		reasons = append(reasons, fmt.Sprintf("%.1f %% of the requests had no answer at the end, with a median of %s: the queue grows", 100*missing, scenario.Seconds(l.P50)))
	}
	return reasons
}

// failures are the requests that did not end well, by class. One that was never
// sent, because all connections were busy, is one of them.
func failures(m *attack.Seen) map[string]int {
	all := map[string]int{}
	for class, n := range m.Counts.Errors() {
		if class != load.OK {
			all[class.String()] += int(n)
		}
	}
	return all
}
