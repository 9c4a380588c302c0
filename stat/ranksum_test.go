package stat

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
)

// countedP counts, over all ways to deal the samples out, those that are at
// least as far to the nearer side as this one.
func countedP(a, b []float64) float64 {
	all := slices.Concat(a, b)
	score := func(inA uint) (sum float64) {
		for i, x := range all {
			for j, y := range all {
				if inA>>i&1 == 1 && inA>>j&1 == 0 {
					switch {
					case x > y:
						sum++
					case x == y:
						sum += 0.5
					}
				}
			}
		}
		return sum
	}
	ours := score(1<<len(a) - 1)
	below, above, total := 0.0, 0.0, 0.0
	for choice := uint(0); choice < 1<<len(all); choice++ {
		if bits.OnesCount(choice) != len(a) {
			continue
		}
		s := score(choice)
		total++
		if s <= ours {
			below++
		}
		if s >= ours {
			above++
		}
	}
	return min(1, 2*min(below, above)/total)
}

func TestRankSumCountsEveryDeal(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		a, b := make([]float64, 1+random.IntN(5)), make([]float64, 1+random.IntN(5))
		for i := range a {
			a[i] = float64(random.IntN(5)) // many ties
		}
		for i := range b {
			b[i] = float64(random.IntN(6))
		}
		if got, want := rankSumP(a, b), countedP(a, b); !equal(got, want) {
			t.Errorf("%v against %v: p = %v, counted %v", a, b, got, want)
		}
	}
	// Ties and uneven sides: here moremath's test has 0.5.
	if got := rankSumP([]float64{1}, []float64{0, 1, 1}); got != 1 {
		t.Errorf("one of three that tie, against the rest: p = %v", got)
	}
}

// Without ties, and with sides of one size, moremath's test is an independent
// witness.
func TestRankSumAgreesWithMoremath(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		n := 6 + random.IntN(15)
		a, b := shapes[1].draw(random, n), plus(shapes[1].draw(random, 6+random.IntN(15)), 2)
		if random.IntN(2) == 0 { // with ties
			b = plus(shapes[1].draw(random, n), 2)
			for i := range n {
				a[i], b[i] = float64(int(a[i])), float64(int(b[i]))
			}
		}
		test, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
		if err != nil {
			t.Fatal(err)
		}
		if got := rankSumP(a, b); !near(got, test.P, 1e-9) {
			t.Errorf("%v against %v: p = %v, moremath has %v", a, b, got, test.P)
		}
	}
}

// The exact distribution goes over into the normal one without a step.
func TestExactAndNormalMeet(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	a, b := shapes[0].draw(random, exactUpTo), plus(shapes[0].draw(random, exactUpTo), 0.5)
	more := append(slices.Clone(b), 10.5)
	if exact, normal := rankSumP(a, b), rankSumP(a, more); !near(exact, normal, 0.01) {
		t.Errorf("p = %v of 50 a side, %v with one more", exact, normal)
	}
	k, covers := shiftOrder(50, 50, 0.95)
	next, _ := shiftOrder(50, 51, 0.95)
	if next-k < 10 || next-k > 40 || covers < 0.95 || covers > 0.952 {
		t.Errorf("order %d covering %v of 50 a side, %d with one more", k, covers, next)
	}
}

func TestShiftOrders(t *testing.T) {
	// From the table of Hollander and Wolfe's kind: n = m = 10 leaves out 23
	// differences on each side.
	for _, c := range []struct {
		a, b, k int
		covers  float64
	}{{6, 6, 6, 0.95887}, {10, 10, 24, 0.95667}, {3, 3, 0, 1}} {
		k, covers := shiftOrder(c.a, c.b, 0.95)
		if k != c.k || !near(covers, c.covers, 2e-4) {
			t.Errorf("%d and %d: order %d covers %v; want %d, %v", c.a, c.b, k, covers, c.k, c.covers)
		}
	}
}
