package tables

import (
	"fmt"
	"math"
	"slices"

	"github.com/gatemark/gatemark/load/loadbench/bench"
)

func openLoops(results *bench.Results, order []string) []Grid {
	var grids []Grid
	var rates []float64
	for _, k := range results.Open {
		if !slices.Contains(rates, k.Rate) {
			rates = append(rates, k.Rate)
		}
	}
	for _, rate := range rates {
		g := Grid{
			Title: fmt.Sprintf("Open loop, %s requests per second, 64 connections: when requests arrived, by the server's clock", count(int64(rate))),
			Head:  []string{"tool", "loop", "arrived/s", "off the asked rate", "never sent", "within 1 ms of schedule", "99.9 % no later than (ms)", "CPU", "stolen"},
		}
		for _, tool := range order {
			for _, k := range results.Open {
				if k.Tool == tool && k.Rate == rate {
					g.Rows = append(g.Rows, openRow(k, results.Machine.Cores))
				}
			}
		}
		g.Notes = append(g.Notes, "Tools that pace each connection by itself send in bursts: their own schedule, not this even one.",
			"Stolen is the share of the machine's cores that a hypervisor gave to others meanwhile: what is due then is late, whoever sends it.")
		grids = append(grids, g)
	}
	return grids
}

func openRow(k bench.Known, cores int) []string {
	if k.Failed != "" {
		return []string{k.Tool + " (failed)", string(k.Loop), absent, absent, absent, absent, absent, absent, absent}
	}
	t := k.True
	return []string{
		k.Tool, string(k.Loop), count(int64(math.Round(t.Rate))), fmt.Sprintf("%+.3f %%", 100*(t.Rate/k.Rate-1)),
		count(t.NotSent), percent(t.Punctual), milliseconds(t.Late), percent(k.Whole.CPU / k.Whole.Seconds), percent(k.Whole.Stolen / k.Whole.Seconds / float64(cores)),
	}
}

func many(results *bench.Results) []Grid {
	if len(results.Many) == 0 {
		return nil
	}
	g := Grid{Title: "10,000 connections, open loop at 10,000 requests per second", Head: []string{"tool", "requests", "errors", "requests/s", "p99 (ms)", "MiB"}}
	for _, r := range results.Many {
		if r.Failed != "" {
			g.Rows = append(g.Rows, []string{r.Tool + " (failed)", absent, absent, absent, absent, absent})
			continue
		}
		g.Rows = append(g.Rows, []string{
			r.Tool, count(r.Report.Requests), count(r.Report.Errors), count(int64(r.Report.Achieved)), told(r, "p99"), mebibytes(r.MostMemory),
		})
	}
	return []Grid{g}
}

func memory(results *bench.Results) []Grid {
	var grids []Grid
	for _, m := range results.Memory {
		g := Grid{
			Title: fmt.Sprintf("Memory over %.0f s of open loop at %s requests per second", m.Duration, count(int64(m.Rate))),
			Head:  []string{"tool", "after", "MiB at that time", "MiB at the end", "growth"},
		}
		if from, first, last, ok := growth(m); ok && m.Failed == "" {
			g.Rows = append(g.Rows, []string{m.Tool, fmt.Sprintf("%.0f s", from), mebibytes(first), mebibytes(last), fmt.Sprintf("%+.1f MiB", float64(last-first)/(1<<20))})
		} else {
			g.Rows = append(g.Rows, []string{m.Tool + " (failed)", absent, absent, absent, absent})
		}
		grids = append(grids, g)
	}
	return grids
}

// growth compares the end with the first minute's end, or with a third of a
// shorter run. The last samples may see the process as it ends: the one before
// is taken.
func growth(m bench.Memory) (after float64, first, last int64, ok bool) {
	after = min(60, m.Duration/3)
	i := int(after / m.Every)
	n := len(m.Samples)
	if i >= n-2 {
		return after, 0, 0, false
	}
	return after, m.Samples[i], m.Samples[n-2], true
}

func told(r bench.Run, name string) string {
	if v, ok := r.Report.Latency[name]; ok {
		return milliseconds(v)
	}
	return absent
}
