package stat

import "math"

// orderedFrom is the number of samples from which on their autocorrelation is
// looked at. Fewer do not tell it from chance.
const orderedFrom = 20

// inefficiency is the factor by which the variance of a statistic of x, taken
// in this order, exceeds that of independent samples: 1 plus twice the weighted
// sum of the autocorrelations. It is 1 where the first one could be chance (one
// sided, at 5 %), and never less: that neighbours differ more than others is
// no reason to be surer.
//
// The sum ends where the sum of a pair of neighbouring autocorrelations is no
// longer positive: what follows is noise (the initial positive sequence of C.
// J. Geyer, "Practical Markov Chain Monte Carlo", Statistical Science 7, 1992).
func inefficiency(x []float64, weight func(lag int) float64) float64 {
	n := len(x)
	if n < orderedFrom {
		return 1
	}
	const byChance = 1.645
	correlation := autocorrelation(x)
	first := correlation(1)
	if !(first*math.Sqrt(float64(n)) > byChance) { // also where all are equal
		return 1
	}
	factor := 1 + 2*first*weight(1)
	for lag := 2; lag+1 < n/2; lag += 2 {
		even, odd := correlation(lag), correlation(lag+1)
		if even+odd <= 0 {
			break
		}
		factor += 2 * (even*weight(lag) + odd*weight(lag+1))
	}
	return max(1, factor)
}

// autocorrelation returns the correlation of x with itself at a lag; NaN where
// all are equal.
func autocorrelation(x []float64) func(lag int) float64 {
	m := mean(x)
	centred := make([]float64, len(x))
	square := 0.0
	for i, v := range x {
		centred[i] = v - m
		square += centred[i] * centred[i]
	}
	return func(lag int) float64 {
		product := 0.0
		for i := lag; i < len(centred); i++ {
			product += centred[i] * centred[i-lag]
		}
		return product / square
	}
}

// ofMean are the weights of autocorrelations in the variance of a mean of n.
func ofMean(n int) func(lag int) float64 {
	return func(lag int) float64 { return 1 - float64(lag)/float64(n) }
}

// countAs is how many independent samples n samples count for.
func countAs(n int, inefficiency float64) int {
	return int(float64(n) / inefficiency)
}
