package capacity

import (
	"math"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// series has a row for each step, in the order in which they were made.
func (c *capacity) series() {
	numbers := func(of func(*try) float64) (all result.Numbers) {
		for _, one := range c.tries {
			all = append(all, of(one))
		}
		return all
	}
	labels := func(of func(*try) string) (all []string) {
		for _, one := range c.tries {
			all = append(all, of(one))
		}
		return all
	}
	columns := []result.Column{
		{Name: "at", Title: "since the measurement began", Unit: "s", Values: numbers(func(o *try) float64 { return o.began })},
		{Name: "stage", Labels: labels(func(o *try) string { return string(o.stage) })},
		{Name: "rate", Title: "asked", Unit: "1/s", Values: numbers(func(o *try) float64 { return float64(o.rate) })},
		{Name: "achieved", Unit: "1/s", Values: numbers(func(o *try) float64 { return o.Result.AchievedRate })},
		{Name: "requests", Title: "requests after the warm-up", Unit: "1", Values: numbers(func(o *try) float64 { return float64(o.Counts.Requests()) })},
		{Name: "failed", Unit: "1", Values: numbers(func(o *try) float64 { return float64(scenario.Total(failures(o.Seen))) })},
		{Name: "sent", Title: "requests sent, with the warm-up", Unit: "1", Values: numbers(func(o *try) float64 { return float64(o.Sent) })},
		{Name: "received", Title: "requests that came to the receivers", Unit: "1", Values: numbers(func(o *try) float64 { return float64(o.Received.Requests) })},
	}
	for _, q := range drawn {
		columns = append(columns, result.Column{Name: "latency-" + q.name, Unit: "s", Values: numbers(func(o *try) float64 { return q.of(o.Result.Latency) })})
	}
	for _, who := range attack.Consumers {
		columns = append(columns, result.Column{Name: "cpu-" + who.Name, Title: "CPU time, " + who.Title, Unit: "s", Values: numbers(func(o *try) float64 { return who.Of(o.Use) })})
	}
	columns = append(columns,
		result.Column{Name: "seconds", Title: "length of the step", Unit: "s", Values: numbers(func(o *try) float64 { return o.length.Seconds() })},
		result.Column{Name: "memory", Title: "largest working set of the data plane", Unit: "B", Values: numbers(func(o *try) float64 { return o.Use.Memory })},
		result.Column{Name: "verdict", Labels: labels(func(o *try) string { return string(o.Verdict) })})
	c.Result.Series = append(c.Result.Series, result.Series{Name: "steps", Title: "One row for each step", Columns: columns})
}

var drawn = []struct {
	name string
	of   func(*load.Summary) float64
}{
	{"p50", orNaN(func(s *load.Summary) float64 { return s.P50 })}, {"p90", orNaN(func(s *load.Summary) float64 { return s.P90 })},
	{"p99", orNaN(func(s *load.Summary) float64 { return s.P99 })}, {"max", orNaN(func(s *load.Summary) float64 { return s.Max })},
}

func orNaN(of func(*load.Summary) float64) func(*load.Summary) float64 {
	return func(s *load.Summary) float64 {
		if s == nil {
			return math.NaN()
		}
		return of(s)
	}
}

// A cloud is those of the steps that a picture shows alike.
type cloud struct {
	name, title string
	of          func(*try) bool
}

var clouds = []cloud{
	{"carried", "carried", func(o *try) bool { return o.stage != direct && o.stage != confirm && o.Verdict == attack.Fine }},
	{"not-carried", "not carried", func(o *try) bool { return o.stage != direct && o.Verdict == attack.NotCarried }},
	{"lasted", "carried for longer", func(o *try) bool { return o.stage == confirm && o.Verdict == attack.Fine }},
	{"no-evidence", "no evidence", func(o *try) bool { return !o.Verdict.Valid() }},
	{"direct", "without the gateway", func(o *try) bool { return o.stage == direct && o.Verdict.Valid() }},
}

// draw makes a series for each cloud, and the lines of a picture.
func (c *capacity) draw(name string, clouds []cloud, columns []result.Column, of ...func(*try) float64) (lines []result.Line) {
	for _, cloud := range clouds {
		series := result.Series{Name: name + "-" + cloud.name, Title: cloud.title}
		for i, column := range columns {
			for _, one := range c.tries {
				if cloud.of(one) {
					column.Values = append(column.Values, of[i](one))
				}
			}
			series.Columns = append(series.Columns, column)
		}
		if series.Len() == 0 {
			continue
		}
		c.Result.Series = append(c.Result.Series, series)
		for _, y := range columns[1:] {
			title := cloud.title
			if y.Title != "" {
				title += ", " + y.Title
			}
			lines = append(lines, result.Line{Title: title, Series: series.Name, X: columns[0].Name, Y: y.Name})
		}
	}
	return lines
}

func (c *capacity) figures(a answer) {
	c.Result.Figures = append(c.Result.Figures, result.Figure{
		Name: "steps", Title: "The search", Kind: "scatter", LogY: true, Caption: "Each point is a step. The answer: " + a.words() + ".",
		XTitle: "since the measurement began", XUnit: "s", YTitle: "rate", YUnit: "1/s",
		Lines: c.draw("search", clouds, []result.Column{{Name: "at", Unit: "s"}, {Name: "rate", Unit: "1/s"}},
			func(o *try) float64 { return o.began }, func(o *try) float64 { return float64(o.rate) }),
	}, result.Figure{
		Name: "latency-over-rate", Title: "Latency over the rate", Kind: "scatter", LogX: true, LogY: true,
		Caption: "Latency counts from when a request was due. Steps with no request that was answered well are not there.",
		XTitle:  "rate", XUnit: "1/s", YTitle: "latency", YUnit: "s",
		Lines: c.draw("latency", []cloud{
			{"carried", "carried", func(o *try) bool { return o.stage != direct && o.Verdict == attack.Fine }},
			{"not-carried", "not carried", func(o *try) bool {
				return o.stage != direct && o.Verdict == attack.NotCarried && o.Result.Latency != nil
			}},
		}, []result.Column{{Name: "rate", Unit: "1/s"}, {Name: "p50", Title: "p50", Unit: "s"}, {Name: "p99", Title: "p99", Unit: "s"}},
			func(o *try) float64 { return float64(o.rate) }, func(o *try) float64 { return drawn[0].of(o.Result.Latency) }, func(o *try) float64 { return drawn[2].of(o.Result.Latency) }),
	})
	if c.Meter == nil {
		return
	}
	c.Result.Figures = append(c.Result.Figures, result.Figure{
		Name: "cpus-over-rate", Title: "CPUs of the data plane over the rate", Kind: "scatter", XTitle: "rate", XUnit: "1/s", YTitle: "CPUs",
		Lines: c.draw("cpus", clouds[:3], []result.Column{{Name: "rate", Unit: "1/s"}, {Name: "cpus", Unit: "1"}},
			func(o *try) float64 { return float64(o.rate) }, func(o *try) float64 { return o.Use.Gateway() / o.Use.Seconds }),
	})
}
