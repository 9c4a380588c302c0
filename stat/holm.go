package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p-values of a family of tests so that the chance of any
// difference shown where there is none stays what it is for one test, whatever
// hangs together. NaN is no test: it stays and does not count. The order stays.
//
// S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
// Scandinavian Journal of Statistics 6, 1979.
func Holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(order)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
