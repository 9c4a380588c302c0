package traffic

import (
	"fmt"

	"github.com/gatemark/gatemark/scenario/attack"
)

// directShare of the direct path's throughput: what is left does not suffice
// to tell the gateway from what is around it.
const directShare = 0.9

// valid reports whether a measurement is evidence about the gateway.
func (one *seen) valid() bool { return one.Verdict.Valid() }

// judge gives every measurement its verdict.
func (t *traffic) judge() {
	for _, one := range t.seen {
		one.JudgeAlone(t.CPUs * t.BackendNodes)
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

// judgeBeside holds a measurement of the gateway against the direct path.
func (one *seen) judgeBeside(direct *seen) {
	switch {
	case direct == nil:
	case one.point.rate > 0:
		one.JudgeRate(direct.Seen)
	case one.Result.AchievedRate > directShare*direct.Result.AchievedRate:
		one.Verdict = attack.DirectSaturated
		one.Reasons = []string{fmt.Sprintf("the direct path carried %.0f/s, and the gateway %.0f/s: over %.0f %% of it", direct.Result.AchievedRate, one.Result.AchievedRate, 100*directShare)}
	}
}
