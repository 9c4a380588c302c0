package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/gatemark/gatemark/report/chart"
	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A figure is a result.Figure with the data of every valid trial that has one
// of its name.
type figure struct {
	Anchor  string
	Name    string
	Title   string
	Caption string
	Chart   chart.Chart
	Legend  []legendItem
	// Notes say what the picture does not show.
	Notes []string
	// Sources say what it is drawn from.
	Sources []source
}

// A source is a line's data and the trials that have it.
type source struct {
	What   string
	Trials []string
}

// String is the source in words.
func (s source) String() string { return s.What + "; from " + strings.Join(s.Trials, ", ") }

func addSource(list []source, what, trial string) []source {
	for i := range list {
		if list[i].What == what {
			list[i].Trials = append(list[i].Trials, trial)
			return list
		}
	}
	return append(list, source{what, []string{trial}})
}

type legendItem struct {
	Title       string
	Color, Dash int
	Trials      int
}

// figures overlays the figures of one name, in the order of their first
// appearance.
func (s *section) figures() []figure {
	var figures []figure
	index := map[string]int{}
	for _, a := range s.Arms {
		for _, t := range a.Valid {
			for _, f := range t.Figures {
				if _, seen := index[f.Name]; !seen {
					index[f.Name] = len(figures)
					figures = append(figures, s.newFigure(f))
				}
			}
		}
	}
	for i := range figures {
		s.fill(&figures[i])
	}
	return figures
}

func (s *section) newFigure(f result.Figure) figure {
	anchor := s.Anchor + "-" + slug(f.Name)
	c := chart.Chart{
		ID: anchor, Title: f.Title, Kind: chart.Kind(f.Kind),
		X: chart.Axis{Title: f.XTitle, Unit: f.XUnit, Log: f.LogX},
		Y: chart.Axis{Title: f.YTitle, Unit: f.YUnit, Log: f.LogY},
	}
	if f.Kind == "ecdf" {
		c.Kind = chart.Step
		c.Y = chart.Axis{Title: cmp.Or(f.YTitle, "share of samples"), Unit: "ratio", Log: f.LogY}
	}
	return figure{Anchor: anchor, Name: f.Name, Title: f.Title, Caption: f.Caption, Chart: c}
}

// maxPlain is up to how many trials of one curve are drawn in full strength.
const maxPlain = 2

func (s *section) fill(f *figure) {
	p := painter{arms: len(s.Arms), index: map[string]int{}}
	for _, a := range s.Arms {
		faint := len(a.Valid) > maxPlain
		for _, t := range a.Valid {
			for _, drawn := range t.Figures {
				if drawn.Name == f.Name {
					p.add(f, a.Treatment, t, drawn, faint)
				}
			}
		}
	}
	f.Legend = p.legend
	f.Chart.Description = f.description()
}

// painter gives curves their colours: one an implementation where there are
// several, with dashes for its lines; else one a line.
type painter struct {
	arms   int
	legend []legendItem
	index  map[string]int
}

func (p *painter) add(f *figure, treatment treatment, t *result.Trial, drawn result.Figure, faint bool) {
	for i, line := range drawn.Lines {
		x, y, note := lineData(t, drawn, line)
		if note != "" {
			f.Notes = append(f.Notes, t.ID+": "+note)
		}
		item := p.item(treatment, line.Title, i, len(drawn.Lines), drawn.Kind)
		f.Chart.Curves = append(f.Chart.Curves, chart.Curve{
			Title: item.Title, Color: item.Color, Dash: item.Dash, Faint: faint, X: x, Y: y,
		})
		f.Sources = addSource(f.Sources, sourceText(drawn, line), t.ID)
	}
	if drawn.XUnit == "s" {
		f.Chart.Marks = append(f.Chart.Marks, marks(t, drawn.Events)...)
	}
}

func (p *painter) item(treatment treatment, line string, i, lines int, kind string) legendItem {
	item := legendItem{Title: line, Color: i}
	if p.arms > 1 {
		item = legendItem{Title: treatment.Title + ": " + line, Color: treatment.Color, Dash: i}
		if lines == 1 {
			item.Title = treatment.Title
		}
		if kind == "scatter" {
			item.Color = treatment.Color*lines + i // dots have no dashes
		}
	} else {
		item.Dash = i / chart.Colors
	}
	at, seen := p.index[item.Title]
	if !seen {
		at = len(p.legend)
		p.index[item.Title] = at
		p.legend = append(p.legend, item)
	}
	p.legend[at].Trials++
	return item
}

// lineData finds a line's columns, and says what is not there to draw.
func lineData(t *result.Trial, f result.Figure, line result.Line) (x, y []float64, note string) {
	var series *result.Series
	for i := range t.Series {
		if t.Series[i].Name == line.Series {
			series = &t.Series[i]
		}
	}
	if series == nil {
		return nil, nil, fmt.Sprintf("no series %s to draw %q from", line.Series, line.Title)
	}
	xs, ok := series.Column(line.X)
	if !ok || xs.Values == nil {
		return nil, nil, fmt.Sprintf("series %s has no numbers in a column %s", line.Series, line.X)
	}
	if f.Kind == "ecdf" {
		return ecdf(xs.Values, line.Title)
	}
	ys, ok := series.Column(line.Y)
	if !ok || ys.Values == nil {
		return nil, nil, fmt.Sprintf("series %s has no numbers in a column %s", line.Series, line.Y)
	}
	return xs.Values, ys.Values, emptyRows(xs.Values, ys.Values, line.Title)
}

// ecdf counts rows without a value as not seen: the curve ends below 100 %.
func ecdf(values []float64, title string) (x, y []float64, note string) {
	unseen := 0
	for _, v := range values {
		if math.IsNaN(v) {
			unseen++
		}
	}
	x, y = stat.ECDF(values, unseen)
	if len(x) > 0 {
		x, y = append([]float64{x[0]}, x...), append([]float64{0}, y...)
	}
	if unseen > 0 {
		note = fmt.Sprintf("%s: %s of %s not seen, so that the curve ends below 100 %%", title,
			quantity.Count(unseen), quantity.Count(len(values)))
	}
	return x, y, note
}

func emptyRows(x, y []float64, title string) string {
	empty := 0
	for i := range min(len(x), len(y)) {
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) {
			empty++
		}
	}
	if empty == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s of %s without a value", title, quantity.Count(empty), quantity.Count(len(x)))
}

func marks(t *result.Trial, names []string) []chart.Mark {
	var list []chart.Mark
	for _, name := range names {
		for _, e := range t.Events {
			if e.Name == name {
				list = append(list, chart.Mark{At: e.At, Title: e.Name})
			}
		}
	}
	return list
}

func sourceText(f result.Figure, line result.Line) string {
	text := fmt.Sprintf("%s: series %s, x %s", cmp.Or(line.Title, line.Series), line.Series, line.X)
	if line.Y != "" {
		text += ", y " + line.Y
	}
	text += " (" + f.Kind + ")"
	if len(f.Events) > 0 {
		text += ", marks " + strings.Join(f.Events, ", ")
	}
	return text
}

// axisText names an axis, its unit, and that it is logarithmic.
func axisText(a chart.Axis) string {
	text := a.Title
	if a.Unit != "" && a.Unit != "1" && a.Unit != "ratio" {
		text += " (" + a.Unit + ")"
	}
	if a.Log {
		text += " (logarithmic)"
	}
	return text
}

// description says in words what the picture shows, with each curve's span.
func (f *figure) description() string {
	parts := []string{fmt.Sprintf("%s over %s.", axisText(f.Chart.Y), axisText(f.Chart.X))}
	if f.Caption != "" {
		parts = append(parts, f.Caption)
	}
	for _, item := range f.Legend {
		var xs, ys []float64
		for _, c := range f.Chart.Curves {
			if c.Title == item.Title {
				xs, ys = append(xs, c.X...), append(ys, c.Y...)
			}
		}
		x, y := stat.Summarize(xs, stat.Options{}), stat.Summarize(ys, stat.Options{})
		if x.N == 0 || y.N == 0 {
			parts = append(parts, item.Title+": no data.")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s, from %s to %s, between %s and %s.", item.Title,
			quantity.Plural(len(xs), "point", "points"),
			quantity.Write(x.Min, f.Chart.X.Unit), quantity.Write(x.Max, f.Chart.X.Unit),
			quantity.Write(y.Min, f.Chart.Y.Unit), quantity.Write(y.Max, f.Chart.Y.Unit)))
	}
	return strings.Join(parts, " ")
}
