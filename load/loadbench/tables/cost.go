package tables

import (
	"fmt"

	"github.com/gatemark/gatemark/load/loadbench/bench"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// A cell is the runs that may be compared with each other.
type cell struct {
	service, path        string
	connections, streams int
}

func cellOf(r bench.Run) cell { return cell{r.Service, r.Path, r.Connections, r.Streams} }

func (c cell) String() string {
	s := fmt.Sprintf("%s, closed loop, %d connections", c.service, c.connections)
	if c.streams > 1 {
		s += fmt.Sprintf(" with %d requests in flight on each", c.streams)
	}
	return s + ", " + c.path
}

// baselines are the tools that ratios are taken against.
func (c cell) baselines() []string {
	if c.service == string(stage.HTTP) {
		return []string{"wrk", "fortio"}
	}
	return []string{"h2load", "fortio"}
}

// grouped is runs by what may be compared, in the order of their measuring.
func grouped(runs []bench.Run) (cells []cell, of map[cell][]bench.Run) {
	of = map[cell][]bench.Run{}
	for _, r := range runs {
		c := cellOf(r)
		if of[c] == nil {
			cells = append(cells, c)
		}
		of[c] = append(of[c], r)
	}
	return cells, of
}

func perCPU(r bench.Run) float64      { return r.PerCPU() }
func perMachine(r bench.Run) float64  { return r.PerMachine() }
func perWholeCPU(r bench.Run) float64 { return r.PerWholeCPU() }

// values are one tool's over the rounds that did not fail.
func values(runs []bench.Run, tool string, of func(bench.Run) float64) []float64 {
	var all []float64
	for _, r := range runs {
		if r.Tool == tool && r.Failed == "" {
			all = append(all, of(r))
		}
	}
	return all
}

// ratios are one tool's value over another's, round by round.
func ratios(runs []bench.Run, tool, baseline string, of func(bench.Run) float64) []float64 {
	base := map[int]float64{}
	for _, r := range runs {
		if r.Tool == baseline && r.Failed == "" {
			base[r.Round] = of(r)
		}
	}
	var all []float64
	for _, r := range runs {
		if b, ok := base[r.Round]; ok && r.Tool == tool && r.Failed == "" {
			all = append(all, of(r)/b)
		}
	}
	return all
}

// costs makes a grid for each cell.
func costs(results *bench.Results, order []string) []Grid {
	var grids []Grid
	cells, of := grouped(results.Cost)
	for _, c := range cells {
		grids = append(grids, costGrid(results, c, of[c], order))
	}
	return grids
}

func costGrid(results *bench.Results, c cell, runs []bench.Run, order []string) Grid {
	base := c.baselines()
	g := Grid{Title: c.String(), Head: []string{"tool", "requests/s", "requests per CPU-s"}}
	for _, b := range base {
		g.Head = append(g.Head, "against "+b)
	}
	g.Head = append(g.Head, "per CPU-s of the machine", "against "+base[0], "per CPU-s, whole run", "against "+base[0], "errors", "MiB")
	for _, tool := range order {
		if row := costRow(runs, tool, base); row != nil {
			g.Rows = append(g.Rows, row)
		}
	}
	if c.service == string(stage.HTTPS) || c.service == string(stage.H2TLS) {
		g.Notes = append(g.Notes, "Everybody has negotiated "+results.TLS+".")
	}
	g.Notes = append(g.Notes, notes(results, runs)...)
	return g
}

func costRow(runs []bench.Run, tool string, base []string) []string {
	var errors, rss int64
	ran, failed := 0, false
	for _, r := range runs {
		if r.Tool != tool {
			continue
		}
		ran++
		failed = failed || r.Failed != ""
		errors += r.Report.Errors
		rss = max(rss, r.MostMemory)
	}
	if ran == 0 {
		return nil
	}
	rate := func(r bench.Run) float64 { return float64(r.Steady.Requests) / r.Steady.Seconds }
	row := []string{tool, spreadOf(values(runs, tool, rate)).rate(), spreadOf(values(runs, tool, perCPU)).rate()}
	for _, b := range base {
		row = append(row, spreadOf(ratios(runs, tool, b, perCPU)).ratio())
	}
	row = append(row, spreadOf(values(runs, tool, perMachine)).rate(), spreadOf(ratios(runs, tool, base[0], perMachine)).ratio(),
		spreadOf(values(runs, tool, perWholeCPU)).rate(), spreadOf(ratios(runs, tool, base[0], perWholeCPU)).ratio(), count(errors), mebibytes(rss))
	if failed {
		row[0] += " (failed)"
	}
	return row
}

// notes say what a reader must know of the runs.
func notes(results *bench.Results, runs []bench.Run) []string {
	var all []string
	disturbed := 0
	miscounted := map[string]bool{}
	for _, r := range runs {
		if r.Failed != "" {
			continue
		}
		if r.Steady.Disturbed(results.Machine.Cores) {
			disturbed++
		}
		if off := r.Whole.Requests - r.Report.Requests; r.Whole.Requests >= 0 && abs(off) > tolerated(r) && !miscounted[r.Tool] {
			miscounted[r.Tool] = true
			all = append(all, fmt.Sprintf("%s counted %s requests where the server had %s.", r.Tool, count(r.Report.Requests), count(r.Whole.Requests)))
		}
	}
	if disturbed > 0 {
		all = append(all, fmt.Sprintf("In %d of %d runs something else used more than 5 %% of the machine.", disturbed, len(runs)))
	}
	return all
}

// tolerated is by how much a tool's count may be off the server's: what was in
// flight at the start and at the end, and 1 %.
func tolerated(r bench.Run) int64 {
	return int64(2*r.Connections*max(1, r.Streams)) + r.Whole.Requests/100
}

func abs(n int64) int64 { return max(n, -n) }
