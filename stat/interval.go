package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// An Interval is an estimate and its bounds, in the unit of the samples. A
// number that the samples do not carry is NaN; a bound may be infinite where
// they bound nothing.
type Interval struct {
	Center, Lo, Hi float64
	// Confidence is what Lo and Hi really cover where that is known exactly,
	// and what was asked for elsewhere.
	Confidence float64
}

// Covers reports whether a value lies within the bounds.
func (i Interval) Covers(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Bounded reports whether there are bounds at all.
func (i Interval) Bounded() bool { return !math.IsNaN(i.Lo) && !math.IsNaN(i.Hi) }

func unknown() Interval {
	nan := math.NaN()
	return Interval{nan, nan, nan, nan}
}

// twoSided is how many standard deviations to each side of the mean of a
// normal distribution hold that share of it.
func twoSided(confidence float64) float64 {
	return stats.StdNormal.InvCDF(0.5 + confidence/2)
}

// twoSidedP is the probability of a standard normal number at least as far from
// zero as z.
func twoSidedP(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
