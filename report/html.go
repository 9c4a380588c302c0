package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"

	"github.com/gatemark/gatemark/report/chart"
	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
)

var (
	//go:embed page/report.html.tmpl
	pageTemplate string
	//go:embed page/report.css
	pageStyle string
	//go:embed page/report.js
	pageScript string
)

// htmlPage is parsed once: the template is part of the program, so that an error
// in it is a defect that every test would meet.
var htmlPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"chartStyle":  func() template.CSS { return template.CSS(chart.Style) },
	"style":       func() template.CSS { return template.CSS(pageStyle) },
	"script":      func() template.JS { return template.JS(pageScript) },
	"count":       quantity.Count,
	"lines":       func(s string) []string { return strings.Split(s, "\n") },
	"numeric":     func(columns []column, i int) bool { return i < len(columns) && columns[i].Number },
	"untitled":    func(g grid) grid { g.Title, g.Name = "", ""; return g },
	"evidence":    evidencePath,
	"legendClass": legendClass,
	"draw":        drawPair,
	"strip":       func(c metricCell) template.HTML { return template.HTML(c.Strip.svg()) },
	"dots":        func(f figure) bool { return f.kind == "scatter" },
	"hue":         func(t treatment) string { return fmt.Sprintf("s%d", t.Color%chart.Colors) },
}).Parse(pageTemplate))

// writeHTML writes one file that needs nothing else: no font, script, style or
// picture is fetched, and a content security policy says so to the browser.
func writeHTML(w io.Writer, v *view) error {
	return htmlPage.Execute(w, v)
}

// Sizes of a picture for wide and for narrow windows. Scaling one picture
// would make its text too small to read on a phone.
var (
	wideSize   = chart.Size{Width: 1040, Height: 400}
	narrowSize = chart.Size{Width: 380, Height: 300}
)

type pair struct {
	Wide, Narrow template.HTML
	Notes        []string
}

// drawPair draws one panel of several.
func drawPair(p panel, panels int) pair {
	size := wideSize
	switch {
	case panels == 2:
		size = chart.Size{Width: 510, Height: 340}
	case panels > 2:
		size = chart.Size{Width: 340, Height: 320}
	}
	wide := p.Chart.Draw(size)
	p.Chart.ID += "-narrow"
	narrow := p.Chart.Draw(narrowSize)
	// The drawing escapes every text that it was given.
	return pair{template.HTML(wide.SVG), template.HTML(narrow.SVG), wide.Notes}
}

func legendClass(item legendItem) string {
	class := fmt.Sprintf("curve s%d", item.Color%chart.Colors)
	if dash := item.Dash % chart.Dashes; dash > 0 {
		class += fmt.Sprintf(" d%d", dash)
	}
	return class
}

// evidencePath is where a trial's attachment lies, relative to the report.
func evidencePath(t *result.Trial, file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "trials/" + url.PathEscape(t.ID) + "/" + strings.Join(parts, "/")
}
