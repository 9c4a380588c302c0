package stat

import (
	"math"
	"slices"
	"testing"
)

func TestRuleOfThree(t *testing.T) {
	for n, want := range map[int]float64{-1: 1, 0: 1, 1: 0.95, 59: 0.0495, 3000: 0.000998, 1_000_000: 2.9957e-06} {
		if got := RuleOfThree(n); math.Abs(got-want) > want*0.002 {
			t.Errorf("RuleOfThree(%d) = %v, want %v", n, got, want)
		}
	}
	// At the bound, seeing none in n has a probability of 5 %.
	for _, n := range []int{1, 10, 333} {
		if p := math.Pow(1-RuleOfThree(n), float64(n)); math.Abs(p-0.05) > 1e-9 {
			t.Errorf("n = %d: none is seen with probability %v", n, p)
		}
	}
}

func TestECDF(t *testing.T) {
	x, share := ECDF([]float64{3, 1, 3, math.NaN(), 2, math.Inf(1)}, 5)
	if !slices.Equal(x, []float64{1, 2, 3}) || !slices.Equal(share, []float64{0.1, 0.2, 0.4}) {
		t.Errorf("got %v at %v", share, x)
	}
	if x, share := ECDF(nil, 3); len(x)+len(share) != 0 {
		t.Errorf("nothing seen gives %v at %v", share, x)
	}
}
