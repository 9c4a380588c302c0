// Package chart draws curves and clouds as SVG that stands alone: no script,
// no font, no request. Colours are CSS classes, so that a page can be light or
// dark; Style is the sheet that goes with them.
//
// Points that would fall on a pixel that is drawn already are left out, which
// does not change the picture, and the drawing says so.
package chart

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
)

// Style is the style sheet of every chart, for light and dark pages.
//
//go:embed chart.css
var Style string

// Kind is how points are joined.
type Kind string

// The kinds.
const (
	Line    Kind = "line"
	Step    Kind = "step" // a value holds until the next point
	Scatter Kind = "scatter"
)

// Colors is the number of colours; dashes tell apart what shares one.
const (
	Colors = 8
	Dashes = 4
)

// A Chart is one picture.
type Chart struct {
	// ID is unique in its page. It may hold letters, digits and dashes.
	ID string
	// Title and Description are for readers who cannot see the picture.
	Title       string
	Description string
	Kind        Kind
	X, Y        Axis
	Curves      []Curve
	Marks       []Mark
	// Frame holds curves that are not drawn and count for the axes: those of
	// the charts beside this one.
	Frame []Curve
}

// An Axis names a variable. Numbers are in base units.
type Axis struct {
	Title string
	Unit  string
	Log   bool
}

// A Curve is one line or cloud. Points with a NaN leave a gap.
type Curve struct {
	Title string
	// Color and Dash count from 0 and wrap around.
	Color, Dash int
	// Faint draws one of several repeats.
	Faint bool
	X, Y  []float64
}

// A Mark is an instant on the X axis.
type Mark struct {
	At    float64
	Title string
	// Color counts from 1; 0 is that of no curve.
	Color int
}

// A Size is in CSS pixels at full width.
type Size struct{ Width, Height int }

// A Drawing is a drawn chart.
type Drawing struct {
	SVG string
	// Notes say what the picture leaves out, and why.
	Notes []string
}

// Draw draws the chart. The legend is left to the page.
func (c Chart) Draw(size Size) Drawing {
	d := &drawing{chart: c, size: size}
	d.layout()
	var b strings.Builder
	d.open(&b)
	if d.empty {
		fmt.Fprintf(&b, `<text class="none" x="%d" y="%d" text-anchor="middle">no data</text>`, size.Width/2, size.Height/2)
	} else {
		d.axes(&b)
		d.marks(&b)
		d.curves(&b)
	}
	b.WriteString("</svg>")
	return Drawing{SVG: b.String(), Notes: d.notes()}
}

type drawing struct {
	chart Chart
	size  Size

	empty                    bool
	left, right, top, bottom float64 // of the plot, in pixels
	x, y                     scale
	placed                   []placedMark
	unlabelled               int

	square                 float64 // of a cloud, in which one dot is drawn
	taken                  map[dot]bool
	points, drawn, offAxis int
}

const (
	lineHeight = 16.0
	fontWidth  = 6.4 // of a character at 12 px, on average
)

// layout sets the plot's box and its two scales.
func (d *drawing) layout() {
	xs, ys := newExtent(d.chart.X.Log), newExtent(d.chart.Y.Log)
	for _, c := range slices.Concat(d.chart.Curves, d.chart.Frame) {
		for i := range min(len(c.X), len(c.Y)) {
			if xs.holds(c.X[i]) && ys.holds(c.Y[i]) {
				xs.add(c.X[i])
				ys.add(c.Y[i])
			}
		}
	}
	if d.empty = xs.empty(); d.empty {
		return
	}
	for _, m := range d.chart.Marks {
		if xs.holds(m.At) {
			xs.add(m.At)
		}
	}
	if !d.chart.Y.Log && ys.lo > 0 {
		ys.add(0) // heights are compared by eye
	}
	if !d.chart.X.Log && xs.lo > 0 && xs.lo < xs.hi/3 {
		xs.add(0)
	}
	d.bottom = float64(d.size.Height) - 46
	d.right = float64(d.size.Width) - 14
	// The scales need the box and the box needs the labels' width: labels
	// depend on the box's height alone.
	d.y = newScale(d.chart.Y, ys, d.bottom, 24, int((d.bottom-24)/44))
	d.left = 14 + math.Ceil(d.y.labelWidth())
	d.x = newScale(d.chart.X, xs, d.left, d.right, int((d.right-d.left)/88))
	rows := d.place()
	d.top = 26 + float64(rows)*lineHeight
	d.y = newScale(d.chart.Y, ys, d.bottom, d.top, int((d.bottom-d.top)/44))
}

func (d *drawing) notes() []string {
	var notes []string
	if d.drawn < d.points {
		where := "fall on the same pixels"
		if d.square > 1 && d.chart.Kind == Scatter {
			where = "lie under those"
		}
		notes = append(notes, fmt.Sprintf("%s of %s points drawn; the others %s",
			quantity.Count(d.drawn), quantity.Count(d.points), where))
	}
	if d.offAxis > 0 {
		notes = append(notes, fmt.Sprintf("%s at or below zero cannot stand on a logarithmic axis",
			quantity.Plural(d.offAxis, "point", "points")))
	}
	if d.unlabelled > 0 {
		notes = append(notes, fmt.Sprintf("%s without a label, for want of room",
			quantity.Plural(d.unlabelled, "mark", "marks")))
	}
	return notes
}
