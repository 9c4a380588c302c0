package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
)

func TestComparisonsOfKnownSamples(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	cases := []struct {
		name     string
		a, b     []float64
		options  CompareOptions
		p        float64
		shift    Interval
		ratio    Interval
		verdict  Verdict
		warnings []string
	}{
		{
			"six against six, all apart: the least p that six can have",
			[]float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16}, CompareOptions{},
			2.0 / 924, Interval{10, 7, 13, 0.9589}, Interval{3.873, 2.4, 11, 0.9589}, Shown, nil,
		},
		{
			"five a side are one too few, and have an estimate without bounds",
			[]float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15, 16}, CompareOptions{},
			nan, Interval{10.5, nan, nan, nan}, Interval{4.4969, nan, nan, nan}, TooFew,
			[]string{"need >= 6 samples for a comparison at level 0.95, have 5"},
		},
		{
			"a thing with itself",
			[]float64{1, 2, 3, 4, 5, 6}, []float64{6, 5, 4, 3, 2, 1}, CompareOptions{},
			1, Interval{0, -3, 3, 0.9589}, Interval{1, 0.4, 2.5, 0.9589}, NotShown, nil,
		},
		{
			"all equal",
			[]float64{3, 3, 3, 3, 3, 3}, []float64{3, 3, 3, 3, 3, 3}, CompareOptions{},
			1, Interval{0, 0, 0, 0.9589}, Interval{1, 1, 1, 0.9589}, NotShown, nil,
		},
		{
			"zero has no ratio",
			[]float64{0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, 1, 1}, CompareOptions{},
			2.0 / 924, Interval{1, 1, 1, 0.9589}, Interval{nan, nan, nan, nan}, Shown, nil,
		},
		{
			"what was not seen is larger than all that was",
			[]float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, inf, inf}, CompareOptions{},
			2.0 / 924, Interval{10.5, 7, inf, 0.9589}, Interval{6.245, 2.4, inf, 0.9589}, Shown, nil,
		},
		{
			"of two unseen halves the difference may be anything",
			[]float64{1, 2, 3, inf, inf, inf}, []float64{1, 2, 3, inf, inf, inf}, CompareOptions{},
			1, Interval{nan, math.Inf(-1), inf, 0.9589}, Interval{nan, 0, inf, 0.9589}, NotShown, nil,
		},
		{
			"a difference below the resolution means nothing",
			[]float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16, nan}, CompareOptions{Resolution: 20, Unit: "s"},
			2.0 / 924, Interval{10, 7, 13, 0.9589}, Interval{3.873, 2.4, 11, 0.9589}, NotShown,
			[]string{"1 samples are not a number and were left out", "the difference is below the resolution of 20 s"},
		},
		{
			"no samples",
			nil, []float64{1}, CompareOptions{},
			nan, Interval{nan, nan, nan, nan}, Interval{nan, nan, nan, nan}, TooFew, []string{"no samples"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Compare(c.a, c.b, c.options)
			if !equal(got.P, c.p) || got.Verdict != c.verdict {
				t.Errorf("p = %v, %v; want %v, %v", got.P, got.Verdict, c.p, c.verdict)
			}
			if !sameInterval(got.Shift, c.shift) {
				t.Errorf("shift %+v, want %+v", got.Shift, c.shift)
			}
			if !sameInterval(got.Ratio, c.ratio) {
				t.Errorf("ratio %+v, want %+v", got.Ratio, c.ratio)
			}
			if warnings := Sentences(got.Warnings); !slices.Equal(warnings, c.warnings) {
				t.Errorf("warnings %q, want %q", warnings, c.warnings)
			}
		})
	}
}

func equal(a, b float64) bool {
	return a == b || near(a, b, 1e-9)
}

func sameInterval(got, want Interval) bool {
	same := func(a, b float64) bool { return a == b || near(a, b, 5e-4) }
	return same(got.Center, want.Center) && same(got.Lo, want.Lo) && same(got.Hi, want.Hi) && same(got.Confidence, want.Confidence)
}

// Where there are no ties, a difference is shown exactly where the bounds of
// the shift leave zero out; and a comparison the other way round is its mirror.
func TestTestAndBoundsAgree(t *testing.T) {
	property := func(seed uint64, sizeA, sizeB uint8, apart float64) bool {
		random := rand.New(rand.NewPCG(seed, 1))
		a, b := shapes[1].draw(random, 6+int(sizeA)%20), shapes[1].draw(random, 6+int(sizeB)%20)
		plus(b, math.Mod(apart, 10))
		forth, back := Compare(a, b, CompareOptions{}), Compare(b, a, CompareOptions{})
		if !equal(forth.P, back.P) || !equal(forth.Shift.Center, -back.Shift.Center) || !equal(forth.Shift.Lo, -back.Shift.Hi) {
			t.Logf("%+v is not the mirror of %+v", forth, back)
			return false
		}
		if (forth.Verdict == Shown) == forth.Shift.Covers(0) {
			t.Logf("%v with bounds %+v", forth.Verdict, forth.Shift)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func TestAdjustedComparisons(t *testing.T) {
	c := Compare([]float64{1, 2, 3, 4, 5, 6}, []float64{4, 5.5, 6.5, 7, 8, 9}, CompareOptions{})
	if c.Verdict != Shown || c.P > 0.05 {
		t.Fatalf("got %+v", c)
	}
	if again := c.WithP(0.2); again.Verdict != NotShown || again.P != 0.2 || again.Shift != c.Shift {
		t.Errorf("adjusted to 0.2: %+v", again)
	}
	few := Compare([]float64{1}, []float64{2}, CompareOptions{})
	if again := few.WithP(math.NaN()); again.Verdict != TooFew {
		t.Errorf("too few became %v", again.Verdict)
	}
}

// A tenth more is called in at least nine of ten comparisons of ten with ten,
// where trials spread by a twentieth.
func TestTenPercentIsCalled(t *testing.T) {
	const comparisons, spread = 1000, 0.05
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal":    func(r *rand.Rand) float64 { return 1 + spread*r.NormFloat64() },
		"lognormal": func(r *rand.Rand) float64 { return math.Exp(spread * r.NormFloat64()) },
	} {
		random := rand.New(rand.NewPCG(10, 10))
		called := 0
		for range comparisons {
			if Compare(each(draw)(random, 10), times(each(draw)(random, 10), 1.1), CompareOptions{}).Verdict == Shown {
				called++
			}
		}
		t.Logf("%s noise of %v %%: called in %d of %d", name, spread*100, called, comparisons)
		if called < comparisons*9/10 {
			t.Errorf("%s noise: called in %d of %d", name, called, comparisons)
		}
	}
}
