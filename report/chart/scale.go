package chart

import (
	"math"

	"github.com/gatemark/gatemark/report/quantity"
)

// extent is the range of the values that an axis can show.
type extent struct {
	lo, hi float64
	log    bool
}

func newExtent(log bool) *extent {
	return &extent{lo: math.Inf(1), hi: math.Inf(-1), log: log}
}

func (e *extent) holds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!e.log || v > 0)
}

func (e *extent) add(v float64) {
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

func (e *extent) empty() bool { return e.lo > e.hi }

// scale maps values to pixels. from is the pixel of the low end.
type scale struct {
	axis     Axis
	lo, hi   float64
	from, to float64
	ticks    []tick
	title    string // the axis' title with its unit
	units    quantity.Scale
}

type tick struct {
	at    float64
	label string
}

// maxLabel bounds a tick's label, so that a strange unit leaves room to draw.
const maxLabel = 14

func newScale(axis Axis, e *extent, from, to float64, wanted int) scale {
	s := scale{axis: axis, lo: e.lo, hi: e.hi, from: from, to: to, title: axis.Title}
	s.units = quantity.For(max(math.Abs(e.lo), math.Abs(e.hi)), axis.Unit)
	wanted = max(wanted, 2)
	if axis.Log {
		s.logTicks(wanted)
	} else {
		s.linearTicks(wanted)
	}
	for i, t := range s.ticks {
		if label := []rune(t.label); len(label) > maxLabel {
			s.ticks[i].label = string(label[:maxLabel-1]) + "…"
		}
	}
	return s
}

func (s scale) holds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.axis.Log || v > 0)
}

// at is the pixel of v.
func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.axis.Log {
		lo, hi, v = math.Log10(lo), math.Log10(hi), math.Log10(v)
	}
	if hi == lo {
		return (s.from + s.to) / 2
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

func (s scale) labelWidth() float64 {
	widest := 0
	for _, t := range s.ticks {
		widest = max(widest, len([]rune(t.label)))
	}
	return float64(widest) * fontWidth
}

// linearTicks picks a step of 1, 2 or 5 in the scaled unit, and widens the
// range to whole steps.
func (s *scale) linearTicks(wanted int) {
	factor := s.units.Factor()
	if s.units.Symbol != "" && s.units.Symbol != "%" {
		s.title += " (" + s.units.Symbol + ")"
	}
	lo, hi := s.lo*factor, s.hi*factor
	if hi == lo {
		lo, hi = min(lo, 0), max(hi, 0)
		if hi == lo {
			hi = 1
		}
	}
	step := niceStep((hi - lo) / float64(wanted))
	if s.axis.Unit == "1" {
		step = max(step, 1) // counts have no fractions
	}
	first, last := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
	s.lo, s.hi = first*step/factor, last*step/factor
	if s.axis.Unit == "ratio" && s.hi > 1 && hi <= 100*(1+1e-9) {
		s.hi = 1
	}
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	for k := first; k <= last; k++ {
		v := k * step / factor
		label := s.units.Decimals(v, decimals)
		if s.units.Symbol == "%" {
			label += " %"
		}
		s.ticks = append(s.ticks, tick{v, label})
	}
}

// niceStep is the smallest of 1, 2, 5 times a power of ten at or above step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks labels decades, and 2 and 5 between them where there is room.
func (s *scale) logTicks(wanted int) {
	s.lo, s.hi = logFloor(s.lo), logCeil(s.hi)
	if s.lo == s.hi {
		s.hi *= 10
	}
	decades := math.Log10(s.hi / s.lo)
	first, last := int(math.Floor(math.Log10(s.lo)+1e-9)), int(math.Ceil(math.Log10(s.hi)-1e-9))
	every := max(1, int(math.Ceil(decades/float64(wanted))))
	multiples := []float64{1}
	switch room := float64(wanted) + 1; {
	case decades*3 <= room:
		multiples = []float64{1, 2, 5}
	case decades*2 <= room:
		multiples = []float64{1, 3}
	}
	for k := first; k <= last; k += every {
		for _, m := range multiples {
			v := m * math.Pow(10, float64(k))
			if v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				s.ticks = append(s.ticks, tick{v, logLabel(v, s.axis.Unit)})
			}
		}
	}
}

// logLabel carries its unit, because a logarithmic axis spans several. Powers
// of ten of seconds stay seconds: "1,000 s" and not "16.7 min".
func logLabel(v float64, unit string) string {
	if unit == "s" && v >= 1 {
		return quantity.For(1, unit).Setting(v)
	}
	return quantity.Setting(v, unit)
}

func logFloor(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power
}

func logCeil(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}
