package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/gatemark/gatemark/report/chart"
)

// A strip is a small picture of one cell: a tick at the center, a bar from
// bound to bound, a dot for each trial. The cells of a row share their scale,
// from zero, so that they can be compared by eye. It repeats what the cell
// says in words.
type strip struct {
	center, lo, hi float64
	blocks         []float64
	color          int
	max            float64 // of the row; 0 draws nothing
}

const (
	stripWidth  = 132.0
	stripHeight = 14.0
)

// scaleStrips gives the cells of a row one scale, if there is anything to
// compare.
func (r *metricRow) scaleStrips() {
	top, values := 0.0, 0
	for _, c := range r.Cells {
		for _, v := range append([]float64{c.Strip.center, c.Strip.hi}, c.Strip.blocks...) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			if v < 0 {
				return
			}
			top = max(top, v)
		}
		if v := c.Strip.center; !math.IsNaN(v) && !math.IsInf(v, 0) {
			values += max(1, len(c.Strip.blocks))
		}
	}
	if values < 2 {
		return
	}
	for i := range r.Cells {
		r.Cells[i].Strip.max = top
	}
}

// values are what the trials say, one each.
func (s strip) values() []float64 {
	if len(s.blocks) > 0 {
		return s.blocks
	}
	return []float64{s.center}
}

// svg draws the strip; it is empty where there is nothing to compare.
func (s strip) svg() string {
	if s.max == 0 || math.IsNaN(s.center) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip s%d" viewBox="0 0 %g %g" aria-hidden="true"><path class="base" d="M0 7H%g"/>`,
		s.color%chart.Colors, stripWidth, stripHeight, stripWidth)
	if !math.IsNaN(s.lo) && !math.IsNaN(s.hi) {
		fmt.Fprintf(&b, `<path class="bounds" d="M%.1f 7H%.1f"/>`, s.at(s.lo), s.at(s.hi))
	}
	for _, v := range s.blocks {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(&b, `<path class="dot" d="M%.1f 7h0"/>`, s.at(v))
		}
	}
	if !math.IsInf(s.center, 0) {
		fmt.Fprintf(&b, `<path class="mid" d="M%.1f 1.5V12.5"/>`, s.at(s.center))
	}
	b.WriteString("</svg>")
	return b.String()
}

func (s strip) at(v float64) float64 { return 3 + v/s.max*(stripWidth-6) }
