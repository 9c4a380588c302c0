package tables

import (
	"fmt"
	"strconv"

	"github.com/gatemark/gatemark/load/loadbench/bench"
)

// precise has four rows for each run: on the clock from when a request was due,
// and on that from its sending; for all, and for those of calm stretches.
func precise(results *bench.Results) []Grid {
	if len(results.Precise) == 0 {
		return nil
	}
	first := results.Precise[0]
	g := Grid{
		Title: fmt.Sprintf("Truth of each request: what was told, less the delay that the server applied to it; %s requests per second for %g s",
			count(int64(first.Rate)), first.Duration),
		Head: []string{"tool", "records", "p50 (µs)", "p99 (µs)", "p99.9 (µs)", "max (µs)", "within 50 µs"},
	}
	for _, p := range results.Precise {
		if p.Failed != "" {
			g.Rows = append(g.Rows, []string{p.Tool + " (failed)", absent, absent, absent, absent, absent, absent})
			continue
		}
		for _, of := range []struct {
			since   string
			records int64
			bench.Excess
		}{
			{"since due", p.Records, p.Latency}, {"since sent", p.Records, p.Service},
			{"since due, calm", p.Calm.Records, p.Calm.Latency}, {"since sent, calm", p.Calm.Records, p.Calm.Service},
		} {
			g.Rows = append(g.Rows, []string{
				p.Tool + ", " + of.since, count(of.records), microseconds(of.P50), microseconds(of.P99), microseconds(of.P999), microseconds(of.Max), percent(of.Within50),
			})
		}
	}
	return []Grid{g}
}

func microseconds(s float64) string { return strconv.FormatFloat(s*1e6, 'f', 0, 64) }

func preciseClaims(results *bench.Results) [][]string {
	var rows [][]string
	for _, p := range results.Precise {
		if ours(p.Run) {
			rows = append(rows, []string{
				fmt.Sprintf("requests whose latency is within 50 µs of the true delay, %s, of %s in calm stretches", p.Tool, count(p.Calm.Records)),
				percent(p.Calm.Latency.Within50), ">= 99.90 %", yes(p.Calm.Latency.Within50 >= 0.999),
			})
		}
	}
	return rows
}
