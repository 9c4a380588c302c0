package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// PairedOptions say how a paired difference is bounded.
type PairedOptions struct {
	// Confidence of the bounds, above 0 and below 1; 0 means DefaultConfidence.
	Confidence float64
	// Seed of the random numbers: the same seed gives the same bounds.
	Seed uint64
	// InOrder says that the differences stand in the order in which they were
	// taken and that neighbours may be alike: neighbours are then drawn
	// together.
	InOrder bool
}

// A PairedDifference is the mean of differences within pairs.
type PairedDifference struct {
	// N counts the pairs, Draws the independent parts that were drawn: pairs,
	// or runs of neighbours.
	N, Draws int
	Mean     Interval
	Warnings []Warning
}

const (
	// resamples is one less than a multiple of a hundred, so that the usual
	// quantiles are those of a rank.
	resamples = 1999
	// runFactor is how many times as long as neighbours are alike a run is, so
	// that runs are nearly independent of one another.
	runFactor = 6
	// leastRuns bounds the length of runs: fewer tell too little of the spread.
	leastRuns = 10
)

// Paired describes differences within pairs: two treatments in one block, or at
// one instant, so that what both have in common drops out. NaN was not measured
// and is left out; with an infinite difference there is no mean.
//
// The bounds are a bootstrap's, symmetric percentile-t: how far resampled means
// lie from the mean, in standard errors of their own, says how far the mean may
// lie from the truth (P. Hall, "On Symmetric Bootstrap Confidence Intervals",
// Journal of the Royal Statistical Society B 50, 1988). Percentiles alone, BCa's
// too, are too narrow for ten pairs: a resample of ten spreads less than what it
// is taken from. A resample keeps each deviation from the mean and draws its
// sign, the wild bootstrap (R. Y. Liu, "Bootstrap Procedures under some
// Non-I.I.D. Models", Annals of Statistics 16, 1988): the order within a block
// is random, so that either sign was as likely. Drawing pairs instead covers up
// to three points more than it states with six to ten pairs, at bounds up to
// half as wide again.
//
// Neighbours that are alike are averaged in runs first, and the runs are what
// is drawn (E. Carlstein, "The Use of Subseries Values for Estimating the
// Variance of a General Statistic from a Stationary Sequence", Annals of
// Statistics 14, 1986).
func Paired(differences []float64, o PairedOptions) PairedDifference {
	o.Confidence = confidenceOr(o.Confidence)
	d := PairedDifference{Mean: unknown()}
	kept := measured(differences)
	d.N, d.Draws = len(kept), len(kept)
	if missing := len(differences) - len(kept); missing > 0 {
		d.Warnings = append(d.Warnings, Warning{Code: NotNumbers, Have: missing})
	}
	if d.N == 0 {
		d.Warnings = append(d.Warnings, Warning{Code: NoSamples})
		return d
	}
	if unseen := countInfinite(kept); unseen > 0 {
		d.Warnings = append(d.Warnings, Warning{Code: BeyondLimit, What: "the mean difference", Have: unseen, Of: d.N})
		return d
	}
	d.Mean.Center = mean(kept)
	parts := kept
	if o.InOrder {
		parts = runs(kept, inefficiency(kept, ofMean(len(kept))))
		d.Draws = len(parts)
		if d.Draws < d.N {
			d.Warnings = append(d.Warnings, Warning{Code: NeighboursAlike, Of: d.N, Have: d.Draws})
		}
	}
	d.bound(parts, o)
	return d
}

func countInfinite(values []float64) int {
	n := 0
	for _, v := range values {
		if math.IsInf(v, 0) {
			n++
		}
	}
	return n
}

// runs are the means of runs of neighbours, long enough to be independent.
func runs(values []float64, inefficiency float64) []float64 {
	if inefficiency <= 1 {
		return values
	}
	n := len(values)
	length := int(math.Ceil(runFactor * inefficiency))
	count := min(n, max(leastRuns, n/length))
	means := make([]float64, count)
	for i := range means {
		means[i] = mean(values[i*n/count : (i+1)*n/count])
	}
	return means
}

func (d *PairedDifference) bound(parts []float64, o PairedOptions) {
	n := len(parts)
	if n < NeedForBounds(o.Confidence) {
		d.Warnings = append(d.Warnings, needForBounds(o.Confidence, n))
		return
	}
	center, deviation := moments(parts)
	if deviation == 0 {
		d.Warnings = append(d.Warnings, Warning{Code: AllEqual})
		return
	}
	random := rand.New(rand.NewPCG(o.Seed, uint64(n)))
	distances := make([]float64, resamples)
	drawn := make([]float64, n)
	for i := range distances {
		for j, v := range parts {
			drawn[j] = v - center
			if random.Uint64()&1 == 0 {
				drawn[j] = center - v
			}
		}
		m, s := moments(drawn)
		distances[i] = math.Abs(m) / s
		if s == 0 {
			distances[i] = math.Inf(1) // all on one side: as far off as can be
		}
	}
	slices.Sort(distances)
	rank := int(math.Ceil((resamples + 1) * o.Confidence))
	half := distances[min(rank, resamples)-1] * deviation
	d.Mean.Lo, d.Mean.Hi, d.Mean.Confidence = d.Mean.Center-half, d.Mean.Center+half, o.Confidence
}

// moments are the mean and the standard deviation.
func moments(values []float64) (m, deviation float64) {
	m = mean(values)
	square := 0.0
	for _, v := range values {
		square += (v - m) * (v - m)
	}
	return m, math.Sqrt(square / float64(len(values)-1))
}
