package stat

import (
	"cmp"
	"math"
	"slices"
)

// A Lifetime is how long something took, or, censored, how long it was waited
// for in vain.
type Lifetime struct {
	Time     float64
	Censored bool
}

// A Survival is the share of lifetimes that go on, over time. Shares and bounds
// hold from their time to the next one; before the first they are 1.
type Survival struct {
	N, Events int
	// Times are the distinct times at which lifetimes ended, rising.
	Times []float64
	// Share goes on after each time, and lies between Lo and Hi at Confidence,
	// at each time by itself.
	Share, Lo, Hi []float64
	Confidence    float64
	Warnings      []Warning
}

// KaplanMeier estimates how lifetimes are distributed where some were not seen
// to end (E. L. Kaplan and P. Meier, "Nonparametric Estimation from Incomplete
// Observations", Journal of the American Statistical Association 53, 1958).
// Censoring must not depend on how long the lifetime would have been.
//
// The bounds have Greenwood's variance on the scale log(-log), which keeps them
// between 0 and 1 and at their level with few lifetimes (J. D. Kalbfleisch and
// R. L. Prentice, "The Statistical Analysis of Failure Time Data", 1980). With
// o.InOrder the variance grows as the lifetimes' autocorrelation asks for. Of
// the options, Confidence and InOrder count. NaN is left out.
func KaplanMeier(lifetimes []Lifetime, o Options) Survival {
	s := Survival{Confidence: confidenceOr(o.Confidence)}
	kept := slices.DeleteFunc(slices.Clone(lifetimes), func(l Lifetime) bool { return math.IsNaN(l.Time) })
	s.N = len(kept)
	if missing := len(lifetimes) - s.N; missing > 0 {
		s.Warnings = append(s.Warnings, Warning{Code: NotNumbers, Have: missing})
	}
	if s.N == 0 {
		s.Warnings = append(s.Warnings, Warning{Code: NoSamples})
		return s
	}
	steps := stepsOf(kept)
	share, greenwood, last := 1.0, 0.0, 1.0
	for _, step := range steps {
		s.Events += step.ended
		atRisk, ended := float64(step.atRisk), float64(step.ended)
		share *= 1 - ended/atRisk
		greenwood += ended / (atRisk * (atRisk - ended)) // infinite at the end
		variance := greenwood
		if o.InOrder {
			variance *= inefficiency(goingOn(kept, step.time), ofMean(s.N))
		}
		lo, hi := logLogBounds(share, variance, s.Confidence)
		if share == 0 {
			hi = last // nothing is known of who might have gone on
		}
		last = hi
		s.Times, s.Share = append(s.Times, step.time), append(s.Share, share)
		s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, hi)
	}
	return s
}

// Quantile is the time by which a share q of lifetimes have ended, with the
// bounds of R. Brookmeyer and J. Crowley, "A Confidence Interval for the Median
// Survival Time", Biometrics 38, 1982: the times at which the bounds of the
// share reach 1-q. What is not reached is +Inf: it lies beyond what was waited
// for.
func (s Survival) Quantile(q float64) Interval {
	if s.N == 0 {
		return unknown()
	}
	return Interval{s.reaches(s.Share, 1-q), s.reaches(s.Lo, 1-q), s.reaches(s.Hi, 1-q), s.Confidence}
}

// reaches is the first time at which a curve is down at a share.
func (s Survival) reaches(curve []float64, share float64) float64 {
	for i, v := range curve {
		if v <= share+1e-12 { // products of shares are rounded
			return s.Times[i]
		}
	}
	return math.Inf(1)
}

// LogRank tests whether two sets of lifetimes have one distribution, two sided
// (N. Mantel, "Evaluation of Survival Data and Two New Rank Order Statistics
// Arising in its Consideration", Cancer Chemotherapy Reports 50, 1966). It is
// NaN where no lifetime ended while both sets had some going on. A set should
// have ten ends or more.
func LogRank(a, b []Lifetime) float64 {
	excess, variance := 0.0, 0.0
	for _, step := range stepsOf(slices.Concat(a, b)) {
		ofA := 0
		for _, l := range a {
			if l.Time >= step.time {
				ofA++
			}
		}
		endedA := 0
		for _, l := range a {
			if l.Time == step.time && !l.Censored {
				endedA++
			}
		}
		n, ended, share := float64(step.atRisk), float64(step.ended), float64(ofA)/float64(step.atRisk)
		excess += float64(endedA) - ended*share
		if n > 1 {
			variance += ended * share * (1 - share) * (n - ended) / (n - 1)
		}
	}
	if variance == 0 {
		return math.NaN()
	}
	return twoSidedP(excess / math.Sqrt(variance))
}

type step struct {
	time          float64
	atRisk, ended int
}

// stepsOf are the times at which lifetimes ended. Who is censored at such a
// time was still at risk.
func stepsOf(lifetimes []Lifetime) []step {
	sorted := slices.SortedFunc(slices.Values(lifetimes), func(a, b Lifetime) int { return cmp.Compare(a.Time, b.Time) })
	var steps []step
	for i := 0; i < len(sorted); {
		s := step{time: sorted[i].Time, atRisk: len(sorted) - i}
		for ; i < len(sorted) && sorted[i].Time == s.time; i++ {
			if !sorted[i].Censored {
				s.ended++
			}
		}
		if s.ended > 0 {
			steps = append(steps, s)
		}
	}
	return steps
}

func goingOn(lifetimes []Lifetime, after float64) []float64 {
	indicator := make([]float64, len(lifetimes))
	for i, l := range lifetimes {
		if l.Time > after {
			indicator[i] = 1
		}
	}
	return indicator
}

func logLogBounds(share, variance, confidence float64) (lo, hi float64) {
	if share <= 0 {
		return 0, 0
	}
	spread := twoSided(confidence) * math.Sqrt(variance) / math.Abs(math.Log(share))
	return math.Pow(share, math.Exp(spread)), math.Pow(share, math.Exp(-spread))
}
