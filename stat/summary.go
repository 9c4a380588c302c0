package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// DefaultConfidence is the confidence of bounds where none is asked for.
const DefaultConfidence = 0.95

// Options say what belongs to the samples besides their values.
type Options struct {
	// Censored counts samples whose end was not seen: they are known to lie
	// beyond every seen one. They count in every quantile.
	Censored int
	// Limit is how long a censored sample was waited for, in the samples'
	// unit. It is only repeated in Summary and warnings.
	Limit float64
	// Unit follows Limit in warnings, such as "s".
	Unit string
	// Confidence of Lo and Hi, above 0 and below 1; 0 means DefaultConfidence.
	Confidence float64
	// InOrder says that the samples stand in the order in which they were
	// taken and that neighbours may be alike. Bounds are then as wide as their
	// autocorrelation asks for. Censored samples must stand among the samples,
	// as +Inf.
	InOrder bool
}

// A Summary describes samples. A number that the samples do not carry is NaN,
// and Warnings say why.
type Summary struct {
	// N counts the samples that were seen, Censored those beyond Limit.
	N        int
	Censored int
	Limit    float64

	Min, Mean, P50, P90, P95, P99, P999, Max float64

	// Lo and Hi bound the median at Confidence, which is what the order
	// statistics really cover: at least what was asked for.
	Lo, Hi, Confidence float64

	Warnings []Warning
}

// Summarize describes samples, which it leaves as they are. A sample that is
// NaN was not measured: it is left out, and a warning counts it. A sample of
// +Inf counts as censored.
func Summarize(samples []float64, o Options) Summary {
	o.Confidence = confidenceOr(o.Confidence)
	s := summarizer{Options: o, sorted: make([]float64, 0, len(samples))}
	missing := s.take(samples)
	n := len(s.sorted)
	s.out = Summary{
		N: n, Censored: s.Censored, Limit: o.Limit,
		Min: math.NaN(), Mean: math.NaN(), P50: math.NaN(), P90: math.NaN(), P95: math.NaN(),
		P99: math.NaN(), P999: math.NaN(), Max: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Confidence: math.NaN(),
	}
	if missing > 0 {
		s.warn(Warning{Code: NotNumbers, Have: missing})
	}
	if n+s.Censored == 0 {
		s.warn(Warning{Code: NoSamples})
		return s.out
	}
	if n > 0 {
		s.out.Min = s.sorted[0]
	}
	if s.Censored == 0 {
		s.out.Max = s.sorted[n-1]
		s.out.Mean = mean(s.sorted)
	}
	s.quantiles()
	effective := n + s.Censored
	if o.InOrder {
		effective = s.effective(samples)
	}
	s.medianBounds(effective)
	return s.out
}

// Median is the value in the middle, the lower one of two. +Inf, which stands
// for what never came, is a value like others. It is NaN of no values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

type summarizer struct {
	Options
	sorted []float64
	out    Summary
}

// take sorts the samples that were seen, counts +Inf as censored, and returns
// how many were not a number.
func (s *summarizer) take(samples []float64) (missing int) {
	for _, v := range samples {
		switch {
		case math.IsNaN(v):
			missing++
		case math.IsInf(v, 1):
			s.Censored++
		default:
			s.sorted = append(s.sorted, v)
		}
	}
	slices.Sort(s.sorted)
	return missing
}

// quantile is a quantile, and how many samples it needs so that at least one
// sample is expected to lie beyond it.
type quantile struct {
	name string
	q    float64
	need int
	into *float64
}

func (s *summarizer) quantiles() {
	for _, q := range []quantile{
		{"p50", 0.5, 1, &s.out.P50},
		{"p90", 0.9, 10, &s.out.P90},
		{"p95", 0.95, 20, &s.out.P95},
		{"p99", 0.99, 100, &s.out.P99},
		{"p99.9", 0.999, 1000, &s.out.P999},
	} {
		total := len(s.sorted) + s.Censored
		if total < q.need {
			s.warn(Warning{Code: NeedMore, What: q.name, Need: q.need, Have: total})
			continue
		}
		rank := Rank(q.q, total)
		if rank > len(s.sorted) {
			s.warnBeyond(q.name)
			continue
		}
		*q.into = s.sorted[rank-1]
	}
}

// medianBounds takes the order statistics that bound the median of as many
// independent samples as the samples count for, at the same share of the way.
func (s *summarizer) medianBounds(effective int) {
	total := len(s.sorted) + s.Censored
	ci := stats.QuantileCI(effective, 0.5, s.Confidence)
	if ci.LoOrder < 1 || ci.HiOrder > effective {
		s.warn(needForBounds(s.Confidence, effective))
		return
	}
	lo, hi := ci.LoOrder, ci.HiOrder
	if effective < total {
		stretch := float64(total+1) / float64(effective+1)
		lo, hi = int(float64(lo)*stretch), int(math.Ceil(float64(hi)*stretch))
	}
	if lo > len(s.sorted) {
		s.warnBeyond("the lower bound of the median")
		return
	}
	s.out.Confidence = ci.Confidence
	s.out.Lo = s.sorted[lo-1]
	if hi > len(s.sorted) {
		s.warnBeyond("the upper bound of the median")
		return
	}
	s.out.Hi = s.sorted[hi-1]
}

// effective is the number of independent samples that would tell as much about
// the median as these do. What counts is how alike neighbours are in lying
// above or below it.
func (s *summarizer) effective(samples []float64) int {
	total := len(s.sorted) + s.Censored
	above := make([]float64, 0, total)
	for _, v := range samples {
		if math.IsNaN(v) {
			continue
		}
		side := 0.0
		if math.IsNaN(s.out.P50) || v > s.out.P50 {
			side = 1
		}
		above = append(above, side)
	}
	n := countAs(total, inefficiency(above, ofMean(len(above))))
	if n < total {
		s.warn(Warning{Code: NeighboursAlike, Of: total, Have: n})
	}
	return n
}

func (s *summarizer) warnBeyond(what string) {
	s.warn(Warning{Code: BeyondLimit, What: what, Have: s.Censored, Of: len(s.sorted) + s.Censored, Limit: s.Limit, Unit: s.Unit})
}

func (s *summarizer) warn(w Warning) {
	s.out.Warnings = append(s.out.Warnings, w)
}

func needForBounds(confidence float64, have int) Warning {
	return Warning{Code: NeedMore, What: fmt.Sprintf("confidence interval at level %v", confidence), Need: NeedForBounds(confidence), Have: have}
}

func confidenceOr(confidence float64) float64 {
	if confidence <= 0 || confidence >= 1 {
		return DefaultConfidence
	}
	return confidence
}

// Rank is the nearest rank of quantile q among n samples, counted from 1: the
// smallest k with k/n >= q.
func Rank(q float64, n int) int {
	// The slack takes back what the product gains from rounding, as in
	// 0.95*20 = 19.000000000000004.
	product := q * float64(n)
	k := int(math.Ceil(product - product*1e-12))
	return min(max(k, 1), n)
}

// NeedForBounds is the number of samples from which on a median has bounds at
// that confidence, 6 at 0.95: below, even the extremes cover less.
func NeedForBounds(confidence float64) int {
	n := 2
	for 1-math.Pow(0.5, float64(n-1)) < confidence {
		n++
	}
	return n
}

// mean divides before it adds, so that large samples do not overflow.
func mean(values []float64) float64 {
	m := 0.0
	for i, v := range values {
		m += (v - m) / float64(i+1)
	}
	return m
}
