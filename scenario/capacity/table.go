package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

func (c *capacity) tables(a answer, lasted *try) {
	c.Result.Tables = append(c.Result.Tables, c.answerTable(a, lasted), c.stepTable())
	if lasted != nil {
		c.Result.Tables = append(c.Result.Tables, attackerTable(lasted), costTable(lasted))
	}
	if len(c.first) > 0 {
		c.Result.Tables = append(c.Result.Tables, c.first.table())
	}
}

// answerTable has one row.
func (c *capacity) answerTable(a answer, lasted *try) result.Table {
	table := result.Table{Name: "capacity", Title: "The answer", Columns: []string{"Capacity", "Not carried", "p50", "p99", "max", "Requests", "Failed", "Data plane, CPUs"}}
	row := []string{a.words(), rateOr(a.above, "-"), "-", "-", "-", "-", "-", ""}
	if lasted != nil {
		l := lasted.Result.Latency
		row = append(row[:2], scenario.Seconds(l.P50), scenario.Seconds(l.P99), scenario.Seconds(l.Max), strconv.FormatInt(lasted.Counts.Requests(), 10),
			strconv.Itoa(scenario.Total(failures(lasted.Seen))), known("%.2f", lasted.Use.Gateway()/lasted.Use.Seconds))
	}
	table.Rows = [][]string{row}
	return table
}

func rateOr(rate int, none string) string {
	if rate == 0 {
		return none
	}
	return fmt.Sprintf("%d/s", rate)
}

func known(format string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// stepTable has a row for each step, in the order in which they were made.
func (c *capacity) stepTable() result.Table {
	table := result.Table{Name: "steps", Title: "Steps", Columns: []string{"Step", "Stage", "Rate asked", "Answers/s", "p50", "p99", "Failed", "Sees one in", "Verdict", "Why"}}
	for i, one := range c.tries {
		p50, p99 := "-", "-"
		if l := one.Result.Latency; l != nil {
			p50, p99 = scenario.Seconds(l.P50), scenario.Seconds(l.P99)
		}
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(i + 1), string(one.stage), strconv.Itoa(one.rate), fmt.Sprintf("%.0f", one.Result.AchievedRate), p50, p99,
			fmt.Sprintf("%d of %d", scenario.Total(failures(one.Seen)), one.Counts.Requests()), strconv.Itoa(max(1, seesOneIn(one.Counts.Requests()))),
			string(one.Verdict), strings.Join(one.Reasons, "; "),
		})
	}
	return table
}

// attackerTable has a row for each attacker: one that is slow drowns in the sum.
func attackerTable(one *try) result.Table {
	table := result.Table{Name: "attackers", Title: fmt.Sprintf("Attackers, at %d requests/s", one.rate), Columns: []string{
		"Attacker", "Requests", "Rate", "Answers/s", "min", "mean", "p50", "p90", "p95", "p99", "max", "Failed", "Status codes",
	}}
	for _, a := range one.Each {
		r := a.Result
		row := []string{a.Name, strconv.FormatInt(r.Requests, 10), fmt.Sprintf("%.2f", r.RequestedRate), fmt.Sprintf("%.2f", r.AchievedRate)}
		for _, of := range quantiles {
			if r.Latency == nil {
				row = append(row, "-")
				continue
			}
			row = append(row, scenario.Seconds(of(r.Latency)))
		}
		table.Rows = append(table.Rows, append(row, strconv.FormatInt(total(r.Errors), 10), codes(r)))
	}
	return table
}

var quantiles = []func(*load.Summary) float64{
	func(s *load.Summary) float64 { return s.Min }, func(s *load.Summary) float64 { return s.Mean }, func(s *load.Summary) float64 { return s.P50 },
	func(s *load.Summary) float64 { return s.P90 }, func(s *load.Summary) float64 { return s.P95 }, func(s *load.Summary) float64 { return s.P99 },
	func(s *load.Summary) float64 { return s.Max },
}

func total(errors map[load.Class]int64) (n int64) {
	for _, count := range errors {
		n += count
	}
	return n
}

// costTable has what a million requests cost, by whom.
func costTable(one *try) result.Table {
	table := result.Table{Name: "cost", Title: fmt.Sprintf("CPU time, at %d requests/s", one.rate), Columns: []string{"Who", "CPU seconds for a million requests", "CPUs"}}
	for _, who := range attack.Consumers {
		cpu := who.Of(one.Use)
		table.Rows = append(table.Rows, []string{who.Title, known("%.1f", attack.PerMillion(cpu, attack.Sent(&one.Counts))), known("%.2f", cpu/one.Use.Seconds)})
	}
	return table
}

// table is what each container asks for and is held to.
func (p pods) table() result.Table {
	table := result.Table{Name: "gateway", Title: "Pods of the data plane", Columns: []string{"Pod", "Container", "Requests", "Limits"}}
	for _, pod := range p {
		for _, container := range pod.Spec.Containers {
			table.Rows = append(table.Rows, []string{pod.Name, container.Name, quantities(container.Resources.Requests), quantities(container.Resources.Limits)})
		}
	}
	return table
}
