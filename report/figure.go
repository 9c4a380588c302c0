package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/chart"
	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A figure is a result.Figure with the data of every valid trial that has one
// of its name: lines of all implementations in one panel, clouds in a panel
// for each, because clouds hide one another.
type figure struct {
	Anchor  string
	Name    string
	Title   string
	Caption string
	// Description is for readers who cannot see the picture.
	Description string
	Panels      []panel
	Legend      []legendItem
	// Notes say what the picture does not show.
	Notes []string
	// Sources say what it is drawn from.
	Sources []source

	blank chart.Chart // the axes, without curves
	kind  string
}

// A panel is one picture of a figure.
type panel struct {
	Title string
	Chart chart.Chart
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
		Title: f.Title, Kind: chart.Kind(f.Kind),
		X: chart.Axis{Title: f.XTitle, Unit: f.XUnit, Log: f.LogX},
		Y: chart.Axis{Title: f.YTitle, Unit: f.YUnit, Log: f.LogY},
	}
	if f.Kind == "ecdf" {
		c.Kind = chart.Step
		c.Y = chart.Axis{Title: cmp.Or(f.YTitle, "share of samples"), Unit: "ratio", Log: f.LogY}
	}
	return figure{Anchor: anchor, Name: f.Name, Title: f.Title, Caption: f.Caption, blank: c, kind: f.Kind}
}

// maxPlain is up to how many trials of one curve are drawn in full strength.
const maxPlain = 2

func (s *section) fill(f *figure) {
	apart := f.kind == "scatter" && len(s.Arms) > 1
	p := painter{several: len(s.Arms) > 1 && !apart, index: map[string]int{}}
	for _, a := range s.Arms {
		if apart || len(f.Panels) == 0 {
			next := panel{Chart: f.blank}
			if apart {
				next.Title = a.Treatment.Title
			}
			f.Panels = append(f.Panels, next)
		}
		p.arm(f, a)
	}
	f.Panels = slices.DeleteFunc(f.Panels, func(p panel) bool { return apart && len(p.Chart.Curves) == 0 })
	f.Legend = p.legend
	f.Description = f.describe()
	f.finish()
}

// finish gives the panels their ids and one frame.
func (f *figure) finish() {
	var all []chart.Curve
	for _, p := range f.Panels {
		all = append(all, p.Chart.Curves...)
	}
	for i := range f.Panels {
		c := &f.Panels[i].Chart
		c.ID = f.Anchor
		c.Description = f.Description
		if len(f.Panels) > 1 {
			c.ID = fmt.Sprintf("%s-%d", f.Anchor, i+1)
			c.Title = f.Title + ", " + f.Panels[i].Title
			c.Frame = all
		}
	}
}

// painter gives curves their colours: one an implementation where there are
// several in a panel, with dashes for its lines; else one a line.
type painter struct {
	several bool
	legend  []legendItem
	index   map[string]int
}

// arm adds what an arm's trials have for a figure to its last panel.
func (p *painter) arm(f *figure, a *arm) {
	var with []*result.Trial
	var last result.Figure
	for _, t := range a.Valid {
		for _, drawn := range t.Figures {
			if drawn.Name == f.Name {
				with, last = append(with, t), drawn
				p.trial(f, a, t, drawn)
			}
		}
	}
	if len(with) == 0 || last.XUnit != "s" {
		return // the events of a trial are instants
	}
	c := &f.Panels[len(f.Panels)-1].Chart
	for _, m := range marks(with, last.Events) {
		if p.several {
			m.Color = a.Treatment.Color + 1
		}
		c.Marks = append(c.Marks, m)
	}
}

func (p *painter) trial(f *figure, a *arm, t *result.Trial, drawn result.Figure) {
	c := &f.Panels[len(f.Panels)-1].Chart
	for i, line := range drawn.Lines {
		x, y, note := lineData(t, drawn, line)
		if note != "" {
			f.Notes = append(f.Notes, t.ID+": "+note)
		}
		item := p.item(a.Treatment, line.Title, i, drawn)
		c.Curves = append(c.Curves, chart.Curve{
			Title: item.Title, Color: item.Color, Dash: item.Dash, Faint: len(a.Valid) > maxPlain, X: x, Y: y,
		})
		f.Sources = addSource(f.Sources, sourceText(drawn, line), t.ID)
	}
}

func (p *painter) item(treatment treatment, line string, i int, drawn result.Figure) legendItem {
	item := legendItem{Title: line, Color: i, Dash: i / chart.Colors}
	if drawn.Kind != "ecdf" {
		item.Dash = i // lines that coincide show through one another
	}
	if p.several {
		item = legendItem{Title: treatment.Title + ": " + line, Color: treatment.Color, Dash: i}
		if len(drawn.Lines) == 1 {
			item.Title = treatment.Title
		}
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

// marks are the events of these names. An event that each of several trials
// has once is marked once, at the median, for otherwise marks hide the curves.
func marks(trials []*result.Trial, names []string) []chart.Mark {
	var list []chart.Mark
	for _, name := range names {
		var at []float64
		for _, t := range trials {
			for _, e := range t.Events {
				if e.Name == name {
					at = append(at, e.At)
				}
			}
		}
		if len(trials) > 1 && len(at) == len(trials) {
			median := stat.Summarize(at, stat.Options{}).P50
			list = append(list, chart.Mark{At: median, Title: name})
			continue
		}
		for _, v := range at {
			list = append(list, chart.Mark{At: v, Title: name})
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

// describe says in words what the picture shows, with each curve's span.
func (f *figure) describe() string {
	parts := []string{fmt.Sprintf("%s over %s.", axisText(f.blank.Y), axisText(f.blank.X))}
	if f.Caption != "" {
		parts = append(parts, f.Caption)
	}
	for _, p := range f.Panels {
		for _, item := range f.Legend {
			if text := spanText(p.Chart, item.Title); text != "" {
				if p.Title != "" {
					text = p.Title + ", " + text
				}
				parts = append(parts, text)
			}
		}
		if len(p.Chart.Marks) > 0 {
			var names []string
			for _, m := range p.Chart.Marks {
				names = append(names, m.Title+" at "+quantity.Write(m.At, "s"))
			}
			if len(names) > 9 {
				names = append(names[:9], "more")
			}
			parts = append(parts, "Marks: "+joinWords(names)+".")
		}
	}
	return strings.Join(parts, " ")
}

// spanText says from where to where the curves of one title go.
func spanText(c chart.Chart, title string) string {
	var xs, ys []float64
	there := false
	for _, curve := range c.Curves {
		if curve.Title == title {
			xs, ys, there = append(xs, curve.X...), append(ys, curve.Y...), true
		}
	}
	if !there {
		return ""
	}
	x, y := stat.Summarize(xs, stat.Options{}), stat.Summarize(ys, stat.Options{})
	if x.N == 0 || y.N == 0 {
		return title + ": no data."
	}
	return fmt.Sprintf("%s: %s, from %s to %s, between %s and %s.", title, quantity.Plural(len(xs), "point", "points"),
		quantity.Write(x.Min, c.X.Unit), quantity.Write(x.Max, c.X.Unit),
		quantity.Write(y.Min, c.Y.Unit), quantity.Write(y.Max, c.Y.Unit))
}
