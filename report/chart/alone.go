package chart

import (
	"fmt"
	"html"
	"strings"
)

// An Entry is a line of a legend.
type Entry struct {
	Title       string
	Color, Dash int
}

// Alone draws the chart as a file of its own, with its style sheet and legend,
// for pages that can only show pictures.
func (c Chart) Alone(size Size, legend []Entry) string {
	drawn := c.Draw(size).SVG
	head, body, _ := strings.Cut(drawn, ">")
	entries, height := legendRows(legend, c.Kind, size)
	// The box grows downwards by the legend.
	was := fmt.Sprintf(`viewBox="0 0 %d %d"`, size.Width, size.Height)
	now := fmt.Sprintf(`viewBox="-12 -6 %d %d" width="%d" height="%d"`,
		size.Width+24, size.Height+height+12, size.Width+24, size.Height+height+12)
	return strings.Replace(head, was, now, 1) + "><style>" + Style + ".chart{background:var(--chart-back)}</style>" +
		strings.TrimSuffix(body, "</svg>") + entries + "</svg>\n"
}

// legendRows sets entries side by side, in as many rows as it takes.
func legendRows(legend []Entry, kind Kind, size Size) (svg string, height int) {
	if len(legend) == 0 {
		return "", 0
	}
	var b strings.Builder
	x, y := 0.0, float64(size.Height)+16
	for _, e := range legend {
		width := 34 + float64(len([]rune(e.Title)))*fontWidth + 24
		if x > 0 && x+width > float64(size.Width) {
			x, y = 0, y+20
		}
		class := fmt.Sprintf("curve s%d", e.Color%Colors)
		path := fmt.Sprintf("M%s %sh22", px(x+2), px(y-4))
		if kind == Scatter {
			class += " dot"
			path = fmt.Sprintf("M%s %sh0", px(x+13), px(y-4))
		} else if dash := e.Dash % Dashes; dash > 0 {
			class += fmt.Sprintf(" d%d", dash)
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s"/><text class="title" x="%s" y="%s">%s</text>`,
			class, path, px(x+32), px(y), html.EscapeString(e.Title))
		x += width
	}
	return b.String(), int(y) - size.Height + 10
}
