package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPairedDifferences(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name     string
		given    []float64
		n        int
		center   float64
		bounded  bool
		warnings []string
	}{
		{"ten pairs", upTo(10), 10, 5.5, true, nil},
		{"five are one too few", upTo(5), 5, 3, false, []string{"need >= 6 samples for confidence interval at level 0.95, have 5"}},
		{"one was not measured", append(upTo(6), nan), 6, 3.5, true, []string{"1 samples are not a number and were left out"}},
		{"one was not seen", append(upTo(6), inf), 7, nan, false, []string{"the mean difference lies beyond the limit: 1 of 7 not seen"}},
		{"all are equal", []float64{2, 2, 2, 2, 2, 2, 2}, 7, 2, false, []string{"all samples are equal"}},
		{"all but one are equal", []float64{2, 2, 2, 2, 2, 2, 9}, 7, 3, true, nil},
		{"two values", []float64{1, 3, 1, 3, 1, 3}, 6, 2, true, nil},
		{"none", nil, 0, nan, false, []string{"no samples"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Paired(c.given, PairedOptions{Seed: 1})
			if got.N != c.n || !equal(got.Mean.Center, c.center) && !math.IsNaN(c.center) || got.Mean.Bounded() != c.bounded {
				t.Errorf("got %+v", got)
			}
			if warnings := Sentences(got.Warnings); !slices.Equal(warnings, c.warnings) {
				t.Errorf("warnings %q, want %q", warnings, c.warnings)
			}
		})
	}
}

func TestPairedIsReproducible(t *testing.T) {
	given := shapes[1].draw(rand.New(rand.NewPCG(3, 3)), 12)
	first, again := Paired(given, PairedOptions{Seed: 7}), Paired(given, PairedOptions{Seed: 7})
	if first.Mean != again.Mean {
		t.Errorf("%+v and %+v from one seed", first.Mean, again.Mean)
	}
	if other := Paired(given, PairedOptions{Seed: 8}); other.Mean == first.Mean {
		t.Error("two seeds give the same bounds")
	}
}

// Bounds of normal differences are those of Student's t, nearly.
func TestPairedIsNearStudent(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	const student = 2.262 // 9 degrees of freedom
	sum := 0.0
	for range 100 {
		given := shapes[0].draw(random, 10)
		_, deviation := moments(given)
		i := Paired(given, PairedOptions{Seed: random.Uint64()}).Mean
		sum += (i.Hi - i.Lo) / 2 / (student * deviation / math.Sqrt(10)) / 100
	}
	if sum < 0.95 || sum > 1.05 {
		t.Errorf("bounds are %.3f as wide as Student's", sum)
	}
}

func TestNeighboursAreDrawnTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	alike := Paired(autoregressive(random, 400), PairedOptions{InOrder: true})
	if alike.Draws < leastRuns || alike.Draws > 40 || len(alike.Warnings) != 1 {
		t.Errorf("400 that are alike are drawn in %d: %v", alike.Draws, alike.Warnings)
	}
	apart := Paired(shapes[0].draw(random, 400), PairedOptions{InOrder: true})
	if apart.Draws != 400 || len(apart.Warnings) != 0 {
		t.Errorf("400 that are independent are drawn in %d: %v", apart.Draws, apart.Warnings)
	}
}
