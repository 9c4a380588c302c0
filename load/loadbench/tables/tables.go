// Package tables makes what people read from what was measured. It measures
// nothing, so old results can be looked at again.
package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/bench"
	"github.com/gatemark/gatemark/load/loadbench/stage"
)

// All returns every table that the results have something for.
func All(results *bench.Results) []Grid {
	var order []string
	for _, t := range attack.All() {
		order = append(order, t.Name)
	}
	return slices.Concat(
		[]Grid{conditions(results)},
		costs(results, order),
		openLoops(results, order), many(results), memory(results),
		truths(results, order), precise(results),
		claims(results),
	)
}

// conditions says where and how it was measured.
func conditions(results *bench.Results) Grid {
	form := "quick"
	if results.Settings.Full {
		form = "full"
	}
	var versions []string
	for program, version := range results.Versions {
		versions = append(versions, program+": "+version)
	}
	slices.Sort(versions)
	g := Grid{Title: "Conditions", Head: []string{"", ""}, Words: true, Rows: [][]string{
		{"measured", results.Started.UTC().Format("2006-01-02 15:04 UTC")},
		{"machine", fmt.Sprintf("%d cores, %s, Linux %s", results.Machine.Cores, results.Machine.CPU, results.Machine.Kernel)},
		{"form", fmt.Sprintf("%s: %d rounds of %g s, seed %d", form, results.Settings.Rounds, results.Settings.Duration, results.Settings.Seed)},
		{"cores", fmt.Sprintf("attacker %d, server %d", stage.AttackerCPU, stage.ServerCPU)},
		{"values", "medians of the rounds; ratios are taken within rounds"},
		{"spread", fmt.Sprintf("95 %% bounds of the median from %d rounds on, least and most below", enough)},
	}}
	for _, v := range versions {
		g.Rows = append(g.Rows, []string{"version", v})
	}
	for _, s := range results.Skipped {
		g.Rows = append(g.Rows, []string{"skipped", s})
	}
	for _, f := range results.Failures() {
		line, _, _ := strings.Cut(f, "\n")
		g.Rows = append(g.Rows, []string{"failed", line})
	}
	return g
}
