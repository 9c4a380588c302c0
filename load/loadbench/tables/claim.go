package tables

import (
	"fmt"
	"math"
	"strings"

	"github.com/gatemark/gatemark/load/loadbench/bench"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// A claim is that gatemark needs no more than so much CPU time, compared with
// another tool.
type claim struct {
	services       []stage.Service
	tool, baseline string
	need           float64
}

// claimed is what the load engine is to show.
var claimed = []claim{
	{[]stage.Service{stage.HTTP}, "gatemark io_uring", "wrk", 1.15},
	{[]stage.Service{stage.HTTP}, "gatemark epoll", "wrk", 1.05},
	{[]stage.Service{stage.HTTP}, "gatemark io_uring", "fortio", 1.4},
	{[]stage.Service{stage.HTTP}, "gatemark io_uring", "floor io_uring", 0.9},
	{[]stage.Service{stage.HTTP}, "gatemark epoll", "floor epoll", 0.9},
	{[]stage.Service{stage.HTTPS}, "gatemark io_uring", "h2load", 0.95},
	{[]stage.Service{stage.H2C, stage.H2TLS, stage.GRPC}, "gatemark io_uring", "h2load", 0.9},
	{[]stage.Service{stage.H2C, stage.H2TLS, stage.GRPC}, "gatemark io_uring", "fortio", 1.4},
}

// enough rounds make the spread the median's bounds.
const enough = 6

func claims(results *bench.Results) []Grid {
	g := Grid{Title: "What gatemark's load engine is to show", Head: []string{"claim", "measured", "needed", "shown"}, Words: true}
	cells, of := grouped(results.Cost)
	for _, claim := range claimed {
		for _, service := range claim.services {
			for _, c := range cells {
				if c.service != string(service) {
					continue
				}
				s := spreadOf(ratios(of[c], claim.tool, claim.baseline, perCPU))
				if s.n == 0 {
					continue
				}
				g.Rows = append(g.Rows, []string{
					fmt.Sprintf("requests per CPU-s, %s against %s: %s, %d connections, %s", claim.tool, claim.baseline, c.service, c.connections, c.path),
					s.ratio(), fmt.Sprintf(">= %.2f", claim.need), s.verdict(claim.need),
				})
			}
		}
	}
	g.Rows = append(g.Rows, scheduleClaims(results)...)
	g.Rows = append(g.Rows, truthClaims(results)...)
	g.Rows = append(g.Rows, preciseClaims(results)...)
	if len(g.Rows) == 0 {
		return nil
	}
	return []Grid{g}
}

// verdict is no where the median misses, and a plain yes only where the
// median's lower bound does not.
func (s spread) verdict(need float64) string {
	switch {
	case s.mid < need:
		return "no"
	case s.n < enough:
		return fmt.Sprintf("yes, in %d of the >= %d rounds", s.n, enough)
	case s.lo < need:
		return "not certain"
	default:
		return "yes"
	}
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

func ours(r bench.Run) bool { return strings.HasPrefix(r.Tool, "gatemark ") && r.Failed == "" }

func scheduleClaims(results *bench.Results) [][]string {
	var rows [][]string
	for _, k := range results.Open {
		if !ours(k.Run) {
			continue
		}
		off := math.Abs(k.True.Rate/k.Rate - 1)
		rows = append(rows,
			[]string{fmt.Sprintf("arrivals within 1 ms of schedule, %s at %s", k.Tool, k.Case), percent(k.True.Punctual), ">= 99.90 %", yes(k.True.Punctual >= 0.999)},
			[]string{fmt.Sprintf("rate off the asked one, %s at %s", k.Tool, k.Case), fmt.Sprintf("%.3f %%", 100*off), "<= 0.100 %", yes(off <= 0.001)})
	}
	for _, m := range results.Memory {
		// A short run says nothing of growth.
		if _, first, last, ok := growth(m); ok && ours(m.Run) && m.Duration >= 600 {
			grown := float64(last-first) / float64(first)
			rows = append(rows, []string{fmt.Sprintf("growth of memory within %.0f s, %s", m.Duration, m.Tool), fmt.Sprintf("%+.1f %%", 100*grown), "<= 2 %", yes(grown <= 0.02)})
		}
	}
	for _, r := range results.Many {
		if ours(r) {
			rows = append(rows, []string{fmt.Sprintf("errors with 10,000 connections, %s", r.Tool), count(r.Report.Errors), "0", yes(r.Report.Errors == 0 && r.Report.Requests > 0)})
		}
	}
	return rows
}

// truthClaims are that failures are counted exactly, that what was not sent is
// told, and that waits are told in full: at least 99 % of the truth, for two
// clocks and the histogram's digits.
func truthClaims(results *bench.Results) [][]string {
	var rows [][]string
	for _, k := range results.Truth {
		if !ours(k.Run) {
			continue
		}
		what := k.Case + ": " + k.Tool
		if n := k.True.Failed + k.True.Reset; n > 0 {
			rows = append(rows, []string{"errors told, " + what, count(k.Report.Errors), count(n), yes(k.Report.Errors == n)})
		}
		if k.True.NotSent > 0 {
			rows = append(rows, []string{"never sent and told so, " + what, count(k.Report.Unsent), count(k.True.NotSent), yes(k.Report.Unsent == k.True.NotSent)})
		}
		least := math.Inf(1)
		for _, name := range []string{"p99", "p99.9", "max"} {
			// What was never sent has no end that could be told.
			if truth := k.True.Due[name]; truth > 0 && truth < math.MaxFloat64/2 {
				least = min(least, k.Report.Latency[name]/truth)
			}
		}
		if !math.IsInf(least, 1) {
			rows = append(rows, []string{"least share told of the true p99, p99.9 and max, " + what, fmt.Sprintf("%.1f %%", 100*least), ">= 99 %", yes(least >= 0.99)})
		}
	}
	return rows
}
