package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// exactUpTo is the number of samples a side up to which distributions of ranks
// are counted out. Beyond, the normal distribution is near enough.
const exactUpTo = 50

// rankSumP is the two-sided p-value of the test of Mann and Whitney. Where
// there are ties, their mean ranks are what is drawn from, which is the exact
// distribution given the ties.
//
// moremath's test serves for many samples only: for few it takes the
// distribution under ties for symmetric, which it is not for sides of different
// sizes.
func rankSumP(a, b []float64) float64 {
	if max(len(a), len(b)) > exactUpTo {
		test, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
		if err != nil {
			return 1 // all are equal; there are no other errors for samples
		}
		return min(1, test.P)
	}
	ranks, sum := doubledRanks(a, b)
	below, above := 0.0, 0.0
	for s, p := range rankSums(ranks, len(a)) {
		if s <= sum {
			below += p
		}
		if s >= sum {
			above += p
		}
	}
	return min(1, 2*min(below, above))
}

// doubledRanks are twice the ranks of all samples together, ties at their mean
// rank, which makes them integers; and the sum of those of a.
func doubledRanks(a, b []float64) (ranks []int, sum int) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	for i := 0; i < len(all); {
		ties := 1
		for i+ties < len(all) && all[i+ties] == all[i] {
			ties++
		}
		double := 2*i + ties + 1
		for range ties {
			ranks = append(ranks, double)
		}
		for _, v := range a {
			if v == all[i] {
				sum += double
			}
		}
		i += ties
	}
	return ranks, sum
}

// rankSums is the probability of each sum of n of the ranks, all choices being
// equally likely.
func rankSums(ranks []int, n int) []float64 {
	most := 0
	sorted := slices.Sorted(slices.Values(ranks))
	for _, r := range sorted[len(sorted)-n:] {
		most += r
	}
	// ways[k][s] counts the choices of k ranks with the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k > 0; k-- {
			for s := r; s <= most; s++ {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	all := 0.0
	for _, w := range ways[n] {
		all += w
	}
	for s := range ways[n] {
		ways[n][s] /= all
	}
	return ways[n]
}

// shiftOrder is the k for which the k-th smallest and the k-th largest
// difference of all pairs bound the shift, with what they cover; 0 where even
// the extremes cover less than asked.
func shiftOrder(a, b int, confidence float64) (k int, covers float64) {
	if max(a, b) > exactUpTo {
		pairs := float64(a) * float64(b)
		spread := math.Sqrt(pairs * float64(a+b+1) / 12)
		return max(0, int(math.Floor(pairs/2-twoSided(confidence)*spread+0.5))), confidence
	}
	ranks := make([]int, a+b)
	for i := range ranks {
		ranks[i] = i + 1
	}
	least := a * (a + 1) / 2
	tail := 0.0
	for _, p := range rankSums(ranks, a)[least:] {
		if tail+p > (1-confidence)/2 {
			break
		}
		tail += p
		k++
	}
	return k, 1 - 2*tail
}
