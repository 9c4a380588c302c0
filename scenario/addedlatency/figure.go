package addedlatency

import (
	"math"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
)

func (t *trial) figures(c *comparison) {
	t.differencesFigure(c)
	t.distributionFigure(c)
}

// differencesFigure has each block's difference, beside that of its control.
func (t *trial) differencesFigure(c *comparison) {
	series := result.Series{Name: "differences", Title: "One row for each block that is evidence", Columns: []result.Column{{Name: "block", Unit: "1"}}}
	for _, b := range c.good {
		series.Columns[0].Values = append(series.Columns[0].Values, float64(b.number+1))
	}
	for i, q := range quantiles {
		added := result.Column{Name: "added-" + q.name, Title: "gateway minus direct, " + q.name, Unit: "s"}
		control := result.Column{Name: "control-" + q.name, Title: "direct minus direct, " + q.name, Unit: "s"}
		for _, b := range c.good {
			added.Values = append(added.Values, b.gateway[i]-(b.direct[0][i]+b.direct[1][i])/2)
			control.Values = append(control.Values, b.direct[0][i]-b.direct[1][i])
		}
		series.Columns = append(series.Columns, added, control)
	}
	t.Result.Series = append(t.Result.Series, series)
	for _, q := range []string{"p50", "p99"} {
		t.Result.Figures = append(t.Result.Figures, result.Figure{
			Name: "differences-" + q, Title: "Differences within blocks, " + q, Kind: "scatter",
			Caption: "Each block's measurement through the gateway minus the direct path's, and as the noise the one of the direct path minus the other.",
			XTitle:  "block", YTitle: "difference of the " + q, YUnit: "s",
			Lines: []result.Line{
				{Title: "gateway minus direct", Series: series.Name, X: "block", Y: "added-" + q},
				{Title: "direct minus direct", Series: series.Name, X: "block", Y: "control-" + q},
			},
		})
	}
}

// distributionSteps is how finely the shares of a distribution are drawn, and
// once more as finely beyond the last step, where the tail is.
const distributionSteps = 100

// distributionFigure is the latency of all requests on both ways.
func (t *trial) distributionFigure(c *comparison) {
	series := result.Series{Name: "distribution", Title: "Latency of all requests", Columns: []result.Column{{Name: "share", Title: "share of requests at or below", Unit: "ratio"}}}
	shares := &series.Columns[0].Values
	for i := 1; i < distributionSteps; i++ {
		*shares = append(*shares, float64(i)/distributionSteps)
	}
	for i := range distributionSteps {
		*shares = append(*shares, 1-1/float64(distributionSteps)+float64(i)/(distributionSteps*distributionSteps))
	}
	var lines []result.Line
	for _, w := range []struct {
		name, title string
		counts      *load.Counts
	}{{"gateway", "through the gateway", &c.gateway}, {"direct", "direct", &c.direct}} {
		times := t.times(w.counts)
		if times == nil {
			continue
		}
		column := result.Column{Name: w.name, Title: "latency, " + w.title, Unit: "s"}
		for _, share := range *shares {
			column.Values = append(column.Values, float64(times.Quantile(share))/1e9)
		}
		series.Columns = append(series.Columns, column)
		lines = append(lines, result.Line{Title: w.title, Series: series.Name, X: w.name, Y: "share"})
	}
	if len(lines) == 0 {
		return
	}
	t.Result.Series = append(t.Result.Series, series)
	t.Result.Figures = append(t.Result.Figures, result.Figure{
		Name: "distribution", Title: "Latency through the gateway and on the direct path", Kind: "line", LogX: true,
		Caption: "All requests of the blocks that are evidence.",
		XTitle:  "latency", XUnit: "s", YTitle: "share of requests at or below", Lines: lines,
	})
}

// series has a row for each measurement, in the order in which they were made.
func (t *trial) series() {
	var at, block, achieved, requests, failed, late, sent, received, connect result.Numbers
	var ways, verdicts []string
	times := [len(quantiles)]result.Numbers{}
	for _, one := range t.seen {
		at, block, ways = append(at, one.At), append(block, float64(one.block+1)), append(ways, string(one.way))
		achieved, requests, late = append(achieved, one.Result.AchievedRate), append(requests, float64(one.Result.Requests)), append(late, float64(one.Result.Late))
		n := int64(0)
		for _, count := range one.Result.Errors {
			n += count
		}
		failed, sent, received = append(failed, float64(n)), append(sent, float64(one.Sent)), append(received, float64(one.Received.Requests))
		trip := math.NaN()
		if one.Result.Connect != nil {
			trip = one.Result.Connect.P50
		}
		connect = append(connect, trip)
		for i, v := range one.sample(t.fromDue) {
			times[i] = append(times[i], v)
		}
		verdicts = append(verdicts, string(one.Verdict))
	}
	columns := []result.Column{
		{Name: "at", Title: "since the measurement began", Unit: "s", Values: at}, {Name: "block", Unit: "1", Values: block}, {Name: "way", Labels: ways},
		{Name: "achieved", Unit: "1/s", Values: achieved}, {Name: "requests", Title: "requests after the warm-up", Unit: "1", Values: requests}, {Name: "failed", Unit: "1", Values: failed},
		{Name: "late", Title: "requests sent over 1 ms late", Unit: "1", Values: late}, {Name: "sent", Title: "requests sent, with the warm-up", Unit: "1", Values: sent},
		{Name: "received", Title: "requests that came to the backends", Unit: "1", Values: received},
		{Name: "connect", Title: "time of a TCP connect, median", Unit: "s", Values: connect},
	}
	for i, q := range quantiles {
		columns = append(columns, result.Column{Name: "time-" + q.name, Unit: "s", Values: times[i]})
	}
	t.Result.Series = append(t.Result.Series, result.Series{Name: "measurements", Title: "One row for each measurement", Columns: append(columns, result.Column{Name: "verdict", Labels: verdicts})})
}

// roundTrip is the median time of TCP connects on those ways, in words.
func (t *trial) roundTrip(of ...way) string {
	all := load.NewHistogram()
	for _, one := range t.seen {
		for _, w := range of {
			if one.way == w && one.Result.ConnectTimes != nil {
				all.Merge(one.Result.ConnectTimes)
			}
		}
	}
	if all.Count() == 0 {
		return "an unknown time"
	}
	return seconds(float64(all.Quantile(0.5)) / 1e9)
}
