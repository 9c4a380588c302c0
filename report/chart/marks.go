package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// fewMarks is up to how many marks each has its label.
const fewMarks = 12

// maxMarkRows bounds the rows of mark labels above the plot.
const maxMarkRows = 4

type placedMark struct {
	x     float64
	title string
	color int
	label bool
	left  bool // the label stands left of the line
	row   int
}

// place gives marks their pixels and their labels rows without overlaps, and
// returns the number of rows. Many marks of one title are labelled once; marks
// on the same pixel are drawn once.
func (d *drawing) place() int {
	marks := slices.Clone(d.chart.Marks)
	slices.SortStableFunc(marks, func(a, b Mark) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	labelled, drawn := map[string]bool{}, map[string]bool{}
	var ends [maxMarkRows]float64
	rows := 0
	for _, m := range marks {
		if !d.x.holds(m.At) {
			continue
		}
		p := placedMark{x: d.x.at(m.At), title: m.Title, color: m.Color}
		pixel := fmt.Sprint(m.Title, m.Color, math.Round(p.x))
		if drawn[pixel] {
			continue
		}
		drawn[pixel] = true
		if !labelled[m.Title] || len(marks) <= fewMarks {
			labelled[m.Title] = true
			if d.label(&p, &ends) {
				rows = max(rows, p.row+1)
			} else {
				d.unlabelled++
			}
		}
		d.placed = append(d.placed, p)
	}
	return rows
}

func (d *drawing) label(p *placedMark, ends *[maxMarkRows]float64) bool {
	width := float64(len([]rune(p.title)))*fontWidth + 12
	start := p.x
	if p.x+width > d.right {
		p.left = true
		start = p.x - width
	}
	if start < 0 {
		return false
	}
	for row := range ends {
		if start >= ends[row] {
			p.row, p.label = row, true
			ends[row] = max(p.x, start+width)
			return true
		}
	}
	return false
}

func (d *drawing) marks(b *strings.Builder) {
	for _, m := range d.placed {
		top := d.top
		if m.label {
			top = 24 + float64(m.row)*lineHeight
		}
		class := ""
		if m.color > 0 {
			class = fmt.Sprintf(` class="s%d"`, (m.color-1)%Colors)
		}
		fmt.Fprintf(b, `<g class="mark"><title>%s</title><path%s d="M%s %sV%s"/>`,
			html.EscapeString(m.title), class, px(m.x), px(top), px(d.bottom))
		if m.label {
			x, anchor := m.x+5, "start"
			if m.left {
				x, anchor = m.x-5, "end"
			}
			fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, px(x), px(top+10), anchor, html.EscapeString(m.title))
		}
		b.WriteString("</g>")
	}
}
