package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/stat"
)

// reference is what stands in place of a verdict on the arm that the others are
// held against.
const reference = "reference"

// Compared is the comparison of the headline metrics as a table.
func (s *section) Compared() grid {
	if s.Comparison == nil {
		return grid{}
	}
	return s.Comparison.grid(s.Comparison.Headline, "Compared with "+s.Comparison.Reference.Title)
}

// ComparedCosts is that of what it costs.
func (s *section) ComparedCosts() grid {
	if s.Comparison == nil {
		return grid{}
	}
	return s.Comparison.grid(s.Comparison.Costs, "Costs compared with "+s.Comparison.Reference.Title)
}

// ComparedRest is that of the other metrics.
func (s *section) ComparedRest() grid {
	if s.Comparison == nil {
		return grid{}
	}
	return s.Comparison.grid(s.Comparison.Rest, "Other metrics compared with "+s.Comparison.Reference.Title)
}

func (c *comparison) grid(f family, title string) grid {
	g := grid{
		Title: title, Note: f.note(),
		Columns: slices.Concat(text("Metric", "Implementation"), numbers("Median", "Difference", "Ratio", "p"), text("Verdict")),
	}
	for _, m := range f.Metrics {
		g.Rows = append(g.Rows, []string{m.label(), m.Reference.Treatment.Title, m.Reference.Cell.median(), "", "", "", reference})
		for _, other := range m.Others {
			verdict := other.Judgement(m.Better)
			if other.Control {
				verdict = "noise floor\n" + verdict
			}
			g.Rows = append(g.Rows, []string{
				m.label(), other.Treatment.Title, other.Cell.median(), differenceText(other.Raw.Shift, m.Unit), ratioText(other.Raw.Ratio),
				pText(other.Adjusted.P), strings.Join(append([]string{verdict}, about(other.Adjusted)...), "\n"),
			})
		}
	}
	return g
}

func (m comparedMetric) label() string {
	if m.Better == "" {
		return m.Title
	}
	return m.Title + "\n" + m.Better + " is better"
}

func (c metricCell) median() string {
	if c.Bounds == "" {
		return c.Center
	}
	return c.Center + "\n[" + c.Bounds + "]"
}

// note says how many tests there are, and whether they can show anything.
func (f family) note() string {
	if f.Tests < 2 {
		return ""
	}
	note := fmt.Sprintf("p is after Holm's correction for %d tests.", f.Tests)
	if need := f.needed(); need > 0 {
		note += fmt.Sprintf(" So many tests of so few trials can show nothing: that takes at least %d trials of each.", need)
	}
	return note
}

// needed is how many trials a side it takes that the smallest p there can be
// survives the correction; 0 where there are enough.
func (f family) needed() int {
	have := math.MaxInt
	for _, m := range f.Metrics {
		for _, other := range m.Others {
			if other.Adjusted.Verdict != stat.TooFew {
				have = min(have, other.Raw.A, other.Raw.B)
			}
		}
	}
	if f.Tests == 0 || have == math.MaxInt {
		return 0
	}
	need := stat.NeedForBounds(stat.DefaultConfidence)
	for leastP(need)*float64(f.Tests) > 1-stat.DefaultConfidence {
		need++
	}
	if need <= have {
		return 0
	}
	return need
}

// leastP is the smallest two-sided p of n trials against n.
func leastP(n int) float64 {
	p := 2.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(n+i)
	}
	return p
}

// about says what a verdict cannot say; that there are too few it does.
func about(c stat.Comparison) []string {
	var list []string
	for _, w := range c.Warnings {
		if w.Code != stat.NeedMore {
			list = append(list, w.String())
		}
	}
	return list
}

// differenceText writes "+12.0 ms" above "[8.0–15.1]".
func differenceText(i stat.Interval, unit string) string {
	if math.IsNaN(i.Center) && !i.Bounded() {
		return ""
	}
	size := 0.0
	for _, v := range []float64{i.Center, i.Lo, i.Hi} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			size = max(size, math.Abs(v))
		}
	}
	scale := quantity.For(size, unit)
	return withBounds(signed(i.Center, scale.Write), i, func(v float64) string { return signed(v, scale.Number) })
}

// signed writes a plus before what is positive; numbers bring their minus.
func signed(v float64, write func(float64) string) string {
	if v > 0 {
		return "+" + write(v)
	}
	return write(v)
}

// ratioText writes "1.24×" above "[1.10–1.40]".
func ratioText(i stat.Interval) string {
	if math.IsNaN(i.Center) && !i.Bounded() {
		return ""
	}
	scale := quantity.For(i.Center, "×")
	center := scale.Number(i.Center)
	if !math.IsNaN(i.Center) {
		center += "×"
	}
	return withBounds(center, i, scale.Number)
}

func withBounds(center string, i stat.Interval, write func(float64) string) string {
	if !i.Bounded() {
		return center
	}
	return center + "\n[" + write(i.Lo) + " to " + write(i.Hi) + "]"
}

func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// inLine joins the lines of a cell.
func inLine(cell string) string { return strings.ReplaceAll(cell, "\n", " ") }
