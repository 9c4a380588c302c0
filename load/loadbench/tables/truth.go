package tables

import (
	"fmt"
	"slices"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/bench"
)

var quantileNames = []string{"p50", "p99", "p99.9", "max"}

func truths(results *bench.Results, order []string) []Grid {
	var grids []Grid
	var cases []string
	for _, k := range results.Truth {
		if !slices.Contains(cases, k.Case) {
			cases = append(cases, k.Case)
		}
	}
	for _, name := range cases {
		var rate float64
		g := Grid{Head: []string{"tool", "requests", "errors", "never sent", "p50 (ms)", "p99 (ms)", "p99.9 (ms)", "max (ms)"}}
		for _, tool := range order {
			for _, k := range results.Truth {
				if k.Case == name && k.Tool == tool {
					rate = max(rate, k.Rate)
					g.Rows = append(g.Rows, truthRows(k)...)
				}
			}
		}
		g.Title = fmt.Sprintf("Truth: %s; %s requests per second", name, count(int64(rate)))
		grids = append(grids, g)
	}
	return grids
}

// truthRows are what the tool told and, below it, what was true.
func truthRows(k bench.Known) [][]string {
	if k.Failed != "" {
		return [][]string{{k.Tool + " (failed)", absent, absent, absent, absent, absent, absent, absent}}
	}
	loop := string(k.Loop)
	if k.Loop == attack.Closed {
		loop = fmt.Sprintf("closed, %d connections", k.Connections)
	}
	unsent := absent
	if k.Report.Unsent >= 0 {
		unsent = count(k.Report.Unsent)
	}
	said := []string{fmt.Sprintf("%s (%s)", k.Tool, loop), count(k.Report.Requests), count(k.Report.Errors), unsent}
	truth, since := k.True.Due, "since due"
	if k.Loop == attack.Closed {
		truth, since = k.True.Sent, "since arrival"
	}
	real := []string{"  true, " + since, count(k.True.Requests - k.True.Reset), count(k.True.Failed + k.True.Reset), count(k.True.NotSent)}
	for _, name := range quantileNames {
		said = append(said, told(k.Run, name))
		if v, ok := truth[name]; ok {
			real = append(real, milliseconds(v))
		} else {
			real = append(real, absent)
		}
	}
	return [][]string{said, real}
}
