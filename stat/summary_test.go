package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

// upTo returns 1..n in an order that is not sorted.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i, p := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		values[i] = float64(p + 1)
	}
	return values
}

func TestKnownTruths(t *testing.T) {
	nan := math.NaN()
	cases := []struct {
		name    string
		samples []float64
		options Options
		want    Summary
	}{
		{
			"one sample is its own median and has no bounds",
			[]float64{7}, Options{},
			Summary{N: 1, Min: 7, Mean: 7, P50: 7, P90: nan, P95: nan, P99: nan, P999: nan, Max: 7, Lo: nan, Hi: nan, Confidence: nan},
		},
		{
			"five samples are one too few for bounds",
			upTo(5), Options{},
			Summary{N: 5, Min: 1, Mean: 3, P50: 3, P90: nan, P95: nan, P99: nan, P999: nan, Max: 5, Lo: nan, Hi: nan, Confidence: nan},
		},
		{
			"six samples: the median lies between the extremes in 31 of 32 cases",
			upTo(6), Options{},
			Summary{N: 6, Min: 1, Mean: 3.5, P50: 3, P90: nan, P95: nan, P99: nan, P999: nan, Max: 6, Lo: 1, Hi: 6, Confidence: 1 - 2.0/64},
		},
		{
			"a thousand carry every quantile",
			upTo(1000), Options{},
			Summary{N: 1000, Min: 1, Mean: 500.5, P50: 500, P90: 900, P95: 950, P99: 990, P999: 999, Max: 1000, Lo: 469, Hi: 532, Confidence: 0.9537},
		},
		{
			"censored samples push quantiles up, out of sight at last",
			upTo(17), Options{Censored: 3, Limit: 30, Unit: "s"},
			Summary{N: 17, Censored: 3, Limit: 30, Min: 1, Mean: nan, P50: 10, P90: nan, P95: nan, P99: nan, P999: nan, Max: nan, Lo: 6, Hi: 15, Confidence: 0.9586},
		},
		{
			"all censored leaves nothing but the count",
			nil, Options{Censored: 20, Limit: 30, Unit: "s"},
			Summary{Censored: 20, Limit: 30, Min: nan, Mean: nan, P50: nan, P90: nan, P95: nan, P99: nan, P999: nan, Max: nan, Lo: nan, Hi: nan, Confidence: nan},
		},
		{
			"no samples at all",
			nil, Options{},
			Summary{Min: nan, Mean: nan, P50: nan, P90: nan, P95: nan, P99: nan, P999: nan, Max: nan, Lo: nan, Hi: nan, Confidence: nan},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Summarize(c.samples, c.options)
			if got.N != c.want.N || got.Censored != c.want.Censored || got.Limit != c.want.Limit {
				t.Errorf("got n %d, censored %d, limit %v; want %d, %d, %v", got.N, got.Censored, got.Limit, c.want.N, c.want.Censored, c.want.Limit)
			}
			for i, want := range numbers(c.want) {
				if have := numbers(got)[i]; !near(have, want, 5e-4) {
					t.Errorf("%s = %v, want %v", numberNames[i], have, want)
				}
			}
		})
	}
}

var numberNames = []string{"min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "lo", "hi", "confidence"}

func numbers(s Summary) []float64 {
	return []float64{s.Min, s.Mean, s.P50, s.P90, s.P95, s.P99, s.P999, s.Max, s.Lo, s.Hi, s.Confidence}
}

func near(a, b, tolerance float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= tolerance
}

func TestWarnings(t *testing.T) {
	cases := []struct {
		samples []float64
		options Options
		want    []string
	}{
		{upTo(1000), Options{}, nil},
		{nil, Options{}, []string{"no samples"}},
		{upTo(5), Options{}, []string{
			"need >= 10 samples for p90, have 5",
			"need >= 20 samples for p95, have 5",
			"need >= 100 samples for p99, have 5",
			"need >= 1000 samples for p99.9, have 5",
			"need >= 6 samples for confidence interval at level 0.95, have 5",
		}},
		{upTo(17), Options{Censored: 3, Limit: 30, Unit: "s"}, []string{
			"p90 lies beyond the limit of 30 s: 3 of 20 not seen",
			"p95 lies beyond the limit of 30 s: 3 of 20 not seen",
			"need >= 100 samples for p99, have 20",
			"need >= 1000 samples for p99.9, have 20",
		}},
		{append(upTo(1000), math.NaN(), math.NaN()), Options{}, []string{"2 samples are not a number and were left out"}},
	}
	for _, c := range cases {
		if got := Sentences(Summarize(c.samples, c.options).Warnings); !slices.Equal(got, c.want) {
			t.Errorf("%d samples, %+v:\ngot  %s\nwant %s", len(c.samples), c.options, strings.Join(got, "; "), strings.Join(c.want, "; "))
		}
	}
}

// sample makes one of any length with ties, the way timestamps have them.
func sample(seed uint64, size uint16) []float64 {
	random := rand.New(rand.NewPCG(seed, 7))
	values := make([]float64, int(size)%1500)
	for i := range values {
		values[i] = math.Floor(random.ExpFloat64()*100) / 100
	}
	return values
}

func TestQuantilesAreRanksOfTheSample(t *testing.T) {
	property := func(seed uint64, size uint16, censored uint8) bool {
		values := sample(seed, size)
		total := len(values) + int(censored)
		s := Summarize(values, Options{Censored: int(censored)})
		for q, got := range map[float64]float64{0.5: s.P50, 0.9: s.P90, 0.95: s.P95, 0.99: s.P99, 0.999: s.P999} {
			if math.IsNaN(got) {
				continue
			}
			below, atOrBelow := 0, 0
			for _, v := range values {
				if v < got {
					below++
				}
				if v <= got {
					atOrBelow++
				}
			}
			// Smallest value with at least q at or below: fewer than q below.
			if float64(atOrBelow) < q*float64(total)-1e-9 || float64(below) >= q*float64(total)+1e-9 {
				t.Logf("q%v = %v with %d below and %d at or below, of %d", q, got, below, atOrBelow, total)
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestSummaryIsOrderedAndIndependentOfOrder(t *testing.T) {
	property := func(seed uint64, size uint16, censored uint8) bool {
		values := sample(seed, size)
		kept := slices.Clone(values)
		s := Summarize(values, Options{Censored: int(censored) % 50})
		if !slices.Equal(values, kept) {
			t.Log("the samples were changed")
			return false
		}
		slices.Sort(values)
		if again := Summarize(values, Options{Censored: int(censored) % 50}); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Log("the summary depends on the order of the samples")
			return false
		}
		last := math.Inf(-1)
		for _, v := range []float64{s.Min, s.Lo, s.P50, s.P90, s.P95, s.P99, s.P999, s.Max} {
			if math.IsNaN(v) {
				continue
			}
			if v < last {
				t.Logf("not in order: %+v", s)
				return false
			}
			last = v
		}
		// Seen or not, a bound that is given never exceeds what was seen.
		return math.IsNaN(s.Hi) || s.Hi >= s.P50
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestCensoringIsTheSameAsInfinity(t *testing.T) {
	values := upTo(40)
	a := Summarize(values, Options{Censored: 4})
	b := Summarize(append(values, math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)), Options{})
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("got\n%v for 4 censored,\n%v for 4 infinite", a, b)
	}
}

// A censored sample is known only to be large. Whatever it turned out to be,
// the quantiles that were given must have been right.
func TestCensoredQuantilesHoldForAnyEnding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		seen := make([]float64, 1+random.IntN(300))
		for i := range seen {
			seen[i] = random.Float64() * 30
		}
		unseen := random.IntN(40)
		censored := Summarize(seen, Options{Censored: unseen, Limit: 30})
		all := slices.Clone(seen)
		for range unseen {
			all = append(all, 30+random.ExpFloat64()*100)
		}
		truth := Summarize(all, Options{})
		for i, got := range numbers(censored) {
			if want := numbers(truth)[i]; !math.IsNaN(got) && !near(got, want, 1e-9) {
				t.Fatalf("%s = %v with %d censored, %v when they ended", numberNames[i], got, unseen, want)
			}
		}
	}
}

func TestBoundsCoverTheMedian(t *testing.T) {
	for _, n := range []int{6, 7, 10, 20, 30, 31, 50, 99, 200, 999} {
		s := Summarize(upTo(n), Options{})
		// With samples 1..n, Lo and Hi are their own ranks: the population's
		// median lies between them with the binomial probability of Lo..Hi-1.
		exact := binomial(n, int(s.Lo), int(s.Hi)-1)
		if exact < 0.9495 {
			t.Errorf("n = %d: [%v, %v] covers the median with probability %.4f", n, s.Lo, s.Hi, exact)
		}
		if math.Abs(exact-s.Confidence) > 0.002 {
			t.Errorf("n = %d: confidence is given as %.4f and is %.4f", n, s.Confidence, exact)
		}
	}
}

// binomial is the probability of from..to heads in n throws.
func binomial(n, from, to int) float64 {
	sum := 0.0
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	for k := from; k <= to; k++ {
		sum += math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
	}
	return sum
}

// Coverage by simulation, on a skewed distribution whose median is ln 2.
func TestBoundsCoverTheMedianInSimulation(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	const rounds = 4000
	hit := 0
	for range rounds {
		values := make([]float64, 12)
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		if s := Summarize(values, Options{}); s.Lo <= math.Ln2 && math.Ln2 <= s.Hi {
			hit++
		}
	}
	// n = 12 covers 0.9614 or more; four standard errors are 0.013.
	if share := float64(hit) / rounds; share < 0.948 {
		t.Errorf("bounds covered the true median in %d of %d rounds", hit, rounds)
	}
}

func TestNeedForBounds(t *testing.T) {
	for confidence, want := range map[float64]int{0.5: 2, 0.9: 5, 0.95: 6, 0.99: 8, 0.999: 11} {
		if got := NeedForBounds(confidence); got != want {
			t.Errorf("at %v: need %d, want %d", confidence, got, want)
		}
		enough := Summarize(upTo(want), Options{Confidence: confidence})
		if math.IsNaN(enough.Lo) || enough.Confidence < confidence {
			t.Errorf("at %v: %d samples have bounds [%v, %v] at %v", confidence, want, enough.Lo, enough.Hi, enough.Confidence)
		}
		if few := Summarize(upTo(want-1), Options{Confidence: confidence}); !math.IsNaN(few.Lo) {
			t.Errorf("at %v: %d samples have a lower bound", confidence, want-1)
		}
	}
}

func TestMeanDoesNotOverflow(t *testing.T) {
	if got := Summarize([]float64{math.MaxFloat64, math.MaxFloat64}, Options{}).Mean; got != math.MaxFloat64 {
		t.Errorf("mean = %v", got)
	}
}
