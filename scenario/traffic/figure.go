package traffic

import (
	"fmt"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

func (t *traffic) figures() {
	t.throughputFigure()
	t.latencyFigure()
	t.cpuFigure()
}

// A curve is one quantity over the points of a picture, on one way.
type curve struct {
	name, title, unit string
	direct            bool
	of                func(*summary) float64
}

// draw makes a series of points and curves, and the lines of its picture.
func (t *traffic) draw(name, title, x, xUnit string, points []point, at func(point) float64, curves []curve) []result.Line {
	series := result.Series{Name: name, Title: title, Columns: []result.Column{{Name: "x", Title: x, Unit: xUnit}}}
	for _, p := range points {
		series.Columns[0].Values = append(series.Columns[0].Values, at(p))
	}
	var lines []result.Line
	for _, c := range curves {
		column := result.Column{Name: c.name, Title: c.title, Unit: c.unit}
		for _, p := range points {
			column.Values = append(column.Values, c.of(t.summarize(p, c.direct)))
		}
		series.Columns = append(series.Columns, column)
		lines = append(lines, result.Line{Title: c.title, Series: name, X: "x", Y: c.name})
	}
	t.Result.Series = append(t.Result.Series, series)
	return lines
}

// throughputFigure is throughput over connections, with its knee.
func (t *traffic) throughputFigure() {
	f := result.Figure{Name: "throughput", Title: "Throughput over connections", Kind: "line", LogX: true,
		XTitle: "connections", YTitle: "answers", YUnit: "1/s"}
	for _, payload := range t.payloads() {
		points := t.sorted(func(p point) bool { return p.rate == 0 && p.payload == payload }, func(p point) int { return p.connections })
		if len(points) < 2 {
			continue
		}
		rate := func(s *summary) float64 { return s.rate() }
		f.Lines = append(f.Lines, t.draw(fmt.Sprintf("throughput-b%d", payload), fmt.Sprintf("Throughput over connections, %d B", payload), "connections", "1", points,
			func(p point) float64 { return float64(p.connections) },
			[]curve{{"gateway", fmt.Sprintf("gateway, %d B", payload), "1/s", false, rate}, {"direct", fmt.Sprintf("direct, %d B", payload), "1/s", true, rate}})...)
		if loops := t.closed(payload); len(loops) > 1 {
			k := knee(loops)
			f.Caption += fmt.Sprintf("With %d B it is within 5 %% of its highest from %d %s on. ", payload, k.point.connections, scenario.Plural(k.point.connections, "connection"))
		}
	}
	if len(f.Lines) > 0 {
		t.Result.Figures = append(t.Result.Figures, f)
	}
}

// fixed are the points with a rate, of one number of connections and payload.
func (t *traffic) fixed(connections, payload int) []point {
	return t.sorted(func(p point) bool { return p.rate > 0 && p.connections == connections && p.payload == payload }, func(p point) int { return p.rate })
}

// busiest is the largest number of connections with fixed rates, and the first
// payload: what pictures over the rate are drawn of.
func (t *traffic) busiest() []point {
	most := 0
	for _, p := range t.points {
		if p.rate > 0 {
			most = max(most, p.connections)
		}
	}
	return t.fixed(most, t.payloads()[0])
}

// latencyFigure is latency over the rate.
func (t *traffic) latencyFigure() {
	points := t.busiest()
	if len(points) < 2 {
		return
	}
	of := func(q int) func(*summary) float64 {
		return func(s *summary) float64 { return orNaN(s.latency(), quantiles[q].of) }
	}
	lines := t.draw("latency-over-rate", "Latency over the rate", "rate asked", "1/s", points, func(p point) float64 { return float64(p.rate) }, []curve{
		{"gateway-p50", "gateway, p50", "s", false, of(0)}, {"gateway-p99", "gateway, p99", "s", false, of(3)},
		{"direct-p50", "direct, p50", "s", true, of(0)}, {"direct-p99", "direct, p99", "s", true, of(3)},
	})
	t.Result.Figures = append(t.Result.Figures, result.Figure{
		Name: "latency-over-rate", Title: "Latency over the rate", Kind: "line", LogY: true,
		Caption: fmt.Sprintf("With %d connections. Latency counts from when a request was due.", points[0].connections),
		XTitle:  "rate asked", XUnit: "1/s", YTitle: "latency", YUnit: "s", Lines: lines,
	})
}

// cpuFigure is who uses how many CPUs at a fixed rate.
func (t *traffic) cpuFigure() {
	points := t.busiest()
	if len(points) == 0 || t.Meter == nil {
		return
	}
	var curves []curve
	for _, c := range attack.Consumers {
		curves = append(curves, curve{c.Name, c.Title, "1", false, func(s *summary) float64 { return s.cores(c.Of) }})
	}
	lines := t.draw("cpu-at-rate", "CPUs in use at a fixed rate", "rate asked", "1/s", points, func(p point) float64 { return float64(p.rate) }, curves)
	kind := "line"
	if len(points) == 1 {
		kind = "scatter"
	}
	t.Result.Figures = append(t.Result.Figures, result.Figure{
		Name: "cpu-at-rate", Title: "CPUs in use at a fixed rate", Kind: kind, Caption: fmt.Sprintf("With %d connections, through the gateway.", points[0].connections),
		XTitle: "rate asked", XUnit: "1/s", YTitle: "CPUs", Lines: lines,
	})
}
