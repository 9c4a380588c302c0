package traffic

import (
	"fmt"

	"github.com/gatemark/gatemark/load"
)

// A verdict says whose a measurement is.
type verdict string

const (
	// fine is the gateway's own number, or on the direct path the backend's.
	fine verdict = "ok"
	// notCarried is the gateway's number too: it was asked for more than it
	// answered, while the direct path carried it. Latency is then the length of a
	// queue.
	notCarried verdict = "rate not carried"
	// The others are no evidence about the gateway.
	attackerLimited verdict = "attacker-limited"
	machineLimited  verdict = "machine-limited"
	backendLimited  verdict = "backend-limited"
	directSaturated verdict = "direct path saturated"
)

// valid reports whether a measurement is evidence about the gateway.
func (one *seen) valid() bool { return one.verdict == fine || one.verdict == notCarried }

// Limits beyond which a number is not the gateway's.
const (
	// directShare of the direct path's throughput: what is left does not suffice
	// to tell the gateway from what is around it.
	directShare = 0.9
	// backendShare of all CPUs of the node.
	backendShare = 0.8
	// stealShare of the machine's CPU time, given to other machines by the host.
	stealShare = 0.1
)

// judge gives every measurement its verdict.
func (t *traffic) judge() {
	for _, one := range t.seen {
		one.judgeAlone(t.cpus * t.backendNodes)
	}
	for _, one := range t.seen {
		if !one.direct && one.valid() {
			one.judgeBeside(t.partner(one))
		}
	}
}

// partner is the same point on the other way in the same round, or nil.
func (t *traffic) partner(one *seen) *seen {
	for _, other := range t.seen {
		if other.round == one.round && other.point == one.point && other.direct != one.direct {
			return other
		}
	}
	return nil
}

// judgeAlone looks at the attacker and the backend.
func (one *seen) judgeAlone(cpus int) {
	one.verdict, one.reasons = fine, nil
	if one.result.Verdict == load.AttackerLimited {
		one.verdict, one.reasons = attackerLimited, one.result.Reasons
		return
	}
	if steal := one.result.Self.Steal; steal > stealShare {
		one.verdict, one.reasons = machineLimited, []string{fmt.Sprintf("the host took %.0f %% of the CPU time away", 100*steal)}
		return
	}
	if share := one.use.backends / one.use.seconds / float64(cpus); share > backendShare {
		one.verdict, one.reasons = backendLimited, []string{fmt.Sprintf("the backends used %.0f %% of the CPUs that they could", 100*share)}
		return
	}
	if one.result.Verdict == load.BackendLimited {
		one.verdict, one.reasons = notCarried, one.result.Reasons
	}
}

// judgeBeside holds a measurement of the gateway against the direct path.
func (one *seen) judgeBeside(direct *seen) {
	if direct == nil {
		return
	}
	if one.point.rate > 0 {
		if direct.verdict != fine {
			one.verdict = directSaturated
			one.reasons = []string{fmt.Sprintf("the direct path did not carry this rate either (%s)", direct.verdict)}
		}
		return
	}
	if one.result.AchievedRate > directShare*direct.result.AchievedRate {
		one.verdict = directSaturated
		one.reasons = []string{fmt.Sprintf("the direct path carried %.0f/s, and the gateway %.0f/s: over %.0f %% of it", direct.result.AchievedRate, one.result.AchievedRate, 100*directShare)}
	}
}
