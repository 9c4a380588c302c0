package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

func (d *drawing) open(b *strings.Builder) {
	c := d.chart
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-labelledby="%s-t %s-d" viewBox="0 0 %d %d"`,
		c.ID, c.ID, d.size.Width, d.size.Height)
	if !d.empty {
		fmt.Fprintf(b, ` data-kind="%s" data-x="%s" data-y="%s"`, c.Kind, readout(d.x), readout(d.y))
	}
	fmt.Fprintf(b, `><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		c.ID, html.EscapeString(c.Title), c.ID, html.EscapeString(c.Description))
}

// readout is what a script needs to turn pixels back into values: the ends in
// base units, their pixels, whether logarithmic, and the unit.
func readout(s scale) string {
	return html.EscapeString(fmt.Sprintf("%g|%g|%s|%s|%t|%s|%s", s.lo, s.hi, px(s.from), px(s.to), s.axis.Log, s.axis.Unit, s.axis.Title))
}

func (d *drawing) axes(b *strings.Builder) {
	b.WriteString(`<g class="axes"><path class="grid" d="`)
	for _, t := range d.y.ticks {
		if y := d.y.at(t.at); y < d.bottom-0.5 {
			fmt.Fprintf(b, "M%s %sH%s", px(d.left), px(y), px(d.right))
		}
	}
	fmt.Fprintf(b, `"/><path class="axis" d="M%s %sH%s`, px(d.left), px(d.bottom), px(d.right))
	for _, t := range d.x.ticks {
		fmt.Fprintf(b, "M%s %sv5", px(d.x.at(t.at)), px(d.bottom))
	}
	b.WriteString(`"/>`)
	for _, t := range d.y.ticks {
		fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="end">%s</text>`, px(d.left-7), px(d.y.at(t.at)+4), html.EscapeString(t.label))
	}
	for _, t := range d.x.ticks {
		x := d.x.at(t.at)
		// Labels at the ends stay inside the picture.
		half := float64(len([]rune(t.label))) * fontWidth / 2
		x = min(max(x, half), float64(d.size.Width)-half)
		fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="middle">%s</text>`, px(x), px(d.bottom+19), html.EscapeString(t.label))
	}
	fmt.Fprintf(b, `<text class="title" x="%s" y="12">%s</text>`, px(0), html.EscapeString(d.fit(d.y.title)))
	fmt.Fprintf(b, `<text class="title" x="%s" y="%s" text-anchor="end">%s</text></g>`,
		px(d.right), px(d.bottom+39), html.EscapeString(d.fit(d.x.title)))
}

// fit cuts a title to the width of the picture. Descriptions have it whole.
func (d *drawing) fit(title string) string {
	runes := []rune(title)
	if room := int(float64(d.size.Width) / fontWidth); len(runes) > room {
		return string(runes[:room-1]) + "…"
	}
	return title
}

// crowd is from how many dots on a cloud is thinned to one in two pixels.
const crowd = 10_000

func (d *drawing) curves(b *strings.Builder) {
	total := 0
	for _, c := range d.chart.Curves {
		total += len(c.X)
	}
	d.square, d.taken = 1, map[dot]bool{}
	if total > crowd {
		d.square = 2
	}
	for _, faint := range []bool{true, false} {
		for i, c := range d.chart.Curves {
			if c.Faint == faint {
				d.curve(b, i, c)
			}
		}
	}
}

func (d *drawing) curve(b *strings.Builder, index int, c Curve) {
	class := fmt.Sprintf("curve %s s%d", d.chart.Kind, c.Color%Colors)
	if dash := c.Dash % Dashes; dash > 0 && d.chart.Kind != Scatter {
		class += fmt.Sprintf(" d%d", dash)
	}
	if c.Faint {
		class += " faint"
	}
	fmt.Fprintf(b, `<path class="%s" data-curve="%d" data-title="%s" d="`, class, index, html.EscapeString(c.Title))
	d.path(b, c)
	b.WriteString(`"/>`)
}

// path writes the points of a curve. A gap ends a run of points.
func (d *drawing) path(b *strings.Builder, c Curve) {
	var run []point
	flush := func() {
		kept := run
		if d.chart.Kind == Scatter {
			kept = thinCloud(run, c.Color, d.square, d.taken)
		} else {
			kept = thinCurve(run)
		}
		d.drawn += len(kept)
		writeRun(b, d.chart.Kind, kept)
		run = run[:0]
	}
	for i := range min(len(c.X), len(c.Y)) {
		x, y := c.X[i], c.Y[i]
		if !d.x.holds(x) || !d.y.holds(y) {
			if !math.IsNaN(x) && !math.IsNaN(y) {
				d.points++
				d.offAxis++
				d.drawn++ // said apart
			}
			if d.chart.Kind != Scatter {
				flush()
			}
			continue
		}
		d.points++
		run = append(run, point{d.x.at(x), d.y.at(y)})
	}
	flush()
}

// writeRun writes one piece of a curve, or the dots of a cloud. Coordinates are
// absolute, so that a script can read them back.
func writeRun(b *strings.Builder, kind Kind, points []point) {
	text := make([]byte, 0, 16*len(points))
	for i, p := range points {
		switch {
		case kind == Scatter:
			text = append(appendPlace(text, 'M', p), "h0"...)
		case i == 0:
			text = appendPlace(text, 'M', p)
			if len(points) == 1 {
				text = append(text, "h0"...) // a dot, by its round cap
			}
		case kind == Step:
			if tenth(p.x) != tenth(points[i-1].x) {
				text = appendPixel(append(text, 'H'), p.x)
			}
			if tenth(p.y) != tenth(points[i-1].y) {
				text = appendPixel(append(text, 'V'), p.y)
			}
		default:
			text = appendPlace(text, 'L', p)
		}
	}
	b.Write(text)
}

func appendPlace(text []byte, command byte, p point) []byte {
	text = appendPixel(append(text, command), p.x)
	return appendPixel(append(text, ' '), p.y)
}

// tenth is a coordinate in tenths of a pixel, which is what is written.
func tenth(v float64) int { return int(math.Round(v * 10)) }

func appendPixel(text []byte, v float64) []byte {
	t := tenth(v)
	if t < 0 {
		text = append(text, '-')
		t = -t
	}
	text = strconv.AppendInt(text, int64(t/10), 10)
	if t%10 != 0 {
		text = append(text, '.', byte('0'+t%10))
	}
	return text
}

// px writes a coordinate.
func px(v float64) string { return string(appendPixel(nil, v)) }
