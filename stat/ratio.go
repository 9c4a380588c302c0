package stat

import "math"

// RuleOfThree bounds from above, at 95 % confidence, the rate of an event that
// was seen in none of n independent tries: the rate at which seeing none has a
// probability of 5 %. It is close to 3/n, whence the name, and 1 where nothing
// was tried.
func RuleOfThree(n int) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// ECDF is the empirical distribution of the samples: the share of all samples,
// censored ones included, at or below each distinct seen value. NaN is left
// out, +Inf counts as censored. x rises strictly.
func ECDF(samples []float64, censored int) (x, share []float64) {
	s := summarizer{Options: Options{Censored: censored}}
	s.take(samples)
	total := float64(len(s.sorted) + s.Censored)
	for i, v := range s.sorted {
		if i+1 < len(s.sorted) && s.sorted[i+1] == v {
			continue
		}
		x = append(x, v)
		share = append(share, float64(i+1)/total)
	}
	return x, share
}
