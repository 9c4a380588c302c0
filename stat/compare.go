package stat

import (
	"fmt"
	"math"
	"slices"
)

// A Verdict is what a comparison comes to.
type Verdict int

const (
	// NotShown: no difference was shown. That is not the same as none.
	NotShown Verdict = iota
	// Shown: the samples differ by more than chance explains.
	Shown
	// TooFew: there are too few samples to tell.
	TooFew
)

// String is the verdict as tables write it: "~" where no difference is shown.
func (v Verdict) String() string {
	switch v {
	case Shown:
		return "shown"
	case TooFew:
		return "too few"
	}
	return "~"
}

// CompareOptions say how sure a difference must be, and how large.
type CompareOptions struct {
	// Confidence of the intervals, above 0 and below 1; 0 means
	// DefaultConfidence. A difference is shown where P is below the rest.
	Confidence float64
	// Resolution is the shift below which a difference means nothing, in the
	// samples' unit. Unit follows it in warnings.
	Resolution float64
	Unit       string
}

// A Comparison says how b differs from a.
type Comparison struct {
	// A and B count the samples of each side.
	A, B int
	// P is the probability of samples at least as far apart where both sides
	// have one distribution, by the test of Mann and Whitney, two sided; NaN
	// where there are too few.
	P float64
	// Shift is by how much b is larger: the median of the differences of all
	// pairs, by Hodges and Lehmann, in the samples' unit.
	Shift Interval
	// Ratio is how many times larger b is: the shift of the logarithms. It is
	// NaN unless all samples are positive.
	Ratio    Interval
	Verdict  Verdict
	Warnings []Warning

	options CompareOptions
}

// Compare compares two sets of independent samples, which it leaves as they
// are. NaN was not measured and is left out; +Inf was not seen, and is larger
// than all that was.
//
// The test and the bounds are exact up to 50 samples a side, ties included in
// the test, and assume of the distributions nothing but, for the shift, that
// they have one shape. Both rest on H. B. Mann and D. R. Whitney, "On a Test of
// Whether one of Two Random Variables is Stochastically Larger than the Other",
// Annals of Mathematical Statistics 18, 1947, and J. L. Hodges and E. L.
// Lehmann, "Estimates of Location Based on Rank Tests", ibid. 34, 1963.
func Compare(a, b []float64, o CompareOptions) Comparison {
	o.Confidence = confidenceOr(o.Confidence)
	all := len(a) + len(b)
	a, b = measured(a), measured(b)
	c := Comparison{A: len(a), B: len(b), P: math.NaN(), Shift: unknown(), Ratio: unknown(), Verdict: TooFew, options: o}
	if missing := all - len(a) - len(b); missing > 0 {
		c.Warnings = append(c.Warnings, Warning{Code: NotNumbers, Have: missing})
	}
	least := min(len(a), len(b))
	if least == 0 {
		c.Warnings = append(c.Warnings, Warning{Code: NoSamples})
		return c
	}
	enough := least >= NeedForBounds(o.Confidence)
	order, covers := 0, math.NaN()
	if enough {
		order, covers = shiftOrder(len(a), len(b), o.Confidence)
	}
	c.Shift = shift(a, b, order, covers)
	if positive(a) && positive(b) {
		c.Ratio = ratio(a, b, order, covers)
	}
	if !enough {
		c.Warnings = append(c.Warnings, Warning{Code: NeedMore,
			What: fmt.Sprintf("a comparison at level %v", o.Confidence), Need: NeedForBounds(o.Confidence), Have: least})
		return c
	}
	return c.WithP(rankSumP(a, b))
}

// WithP is the comparison at another p-value, such as one that Holm adjusted.
// Where there are too few samples it stays as it is.
func (c Comparison) WithP(p float64) Comparison {
	if math.IsNaN(p) {
		return c
	}
	c.P, c.Verdict = p, NotShown
	if p > 1-c.options.Confidence {
		return c
	}
	if math.Abs(c.Shift.Center) < c.options.Resolution {
		below := Warning{Code: BelowResolution, What: "the difference", Limit: c.options.Resolution, Unit: c.options.Unit}
		if !slices.Contains(c.Warnings, below) {
			c.Warnings = append(slices.Clip(c.Warnings), below)
		}
		return c
	}
	c.Verdict = Shown
	return c
}

func measured(samples []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(samples), math.IsNaN)
}

func positive(samples []float64) bool {
	return !slices.ContainsFunc(samples, func(v float64) bool { return v <= 0 })
}

// shift is the Hodges-Lehmann estimate with the differences of that order from
// both ends as bounds; order 0 gives none.
func shift(a, b []float64, order int, covers float64) Interval {
	low, high := differences(a, b)
	m := len(low)
	s := unknown()
	// Where a middle difference is that of two unseen samples it is unknown.
	if l, h := middle(low), middle(high); l == h {
		s.Center = l
	}
	if order > 0 {
		s.Lo, s.Hi, s.Confidence = low[order-1], high[m-order], covers
	}
	return s
}

func ratio(a, b []float64, order int, covers float64) Interval {
	s := shift(logarithms(a), logarithms(b), order, covers)
	return Interval{math.Exp(s.Center), math.Exp(s.Lo), math.Exp(s.Hi), s.Confidence}
}

func logarithms(samples []float64) []float64 {
	list := make([]float64, len(samples))
	for i, v := range samples {
		list[i] = math.Log(v)
	}
	return list
}

// differences are those of all pairs, sorted, as low and as high as they may
// be: the difference of two unseen samples may be anything.
func differences(a, b []float64) (low, high []float64) {
	low = make([]float64, 0, len(a)*len(b))
	either := 0
	for _, x := range a {
		for _, y := range b {
			if d := y - x; math.IsNaN(d) {
				either++
			} else {
				low = append(low, d)
			}
		}
	}
	slices.Sort(low)
	if either == 0 {
		return low, low
	}
	unbounded := slices.Repeat([]float64{math.Inf(1)}, either)
	high = slices.Concat(low, unbounded)
	for i := range unbounded {
		unbounded[i] = math.Inf(-1)
	}
	return slices.Concat(unbounded, low), high
}

// middle is the median of sorted values, between the middle two if there are.
func middle(sorted []float64) float64 {
	n := len(sorted)
	below, above := sorted[(n-1)/2], sorted[n/2]
	if below == above {
		return below // infinities too
	}
	return below + (above-below)/2
}
