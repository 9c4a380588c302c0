package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/gatemark/gatemark/report/quantity"
)

// costs are the metrics of what an implementation uses up, by the names that
// every scenario has for them. Less is better, whatever they say. What it makes
// Kubernetes use up is its cost too; what other implementations use up in the
// meantime is not.
var costs = []string{
	"cpu-control-plane", "cpu-data-plane", "cpu-kubernetes",
	"memory-peak-control-plane", "memory-peak-data-plane", "memory-peak-kubernetes",
}

func isCost(metric string) bool { return slices.Contains(costs, metric) }

// Relative has what each implementation uses, as a multiple of the least, so
// that one look tells who is how much dearer. It is empty where fewer than two
// implementations have such a metric.
func (s *section) Relative() grid {
	g := grid{
		Title: "Relative cost", Columns: text("Implementation"),
		Note: "CPU time and memory as a multiple of the least: medians over trials.",
	}
	rows := make([][]string, len(s.Arms))
	for i, a := range s.Arms {
		rows[i] = []string{a.Treatment.Title}
	}
	for _, name := range costs {
		at := slices.IndexFunc(s.All, func(r metricRow) bool { return r.Name == name })
		if at < 0 {
			continue
		}
		row := s.All[at]
		least, known := math.Inf(1), 0
		for _, c := range row.Cells {
			if v := c.Strip.center; !math.IsNaN(v) && !math.IsInf(v, 0) {
				least = min(least, v)
				known++
			}
		}
		if known < 2 || least <= 0 {
			continue
		}
		g.Columns = append(g.Columns, column{Title: row.Title, Number: true})
		for i, c := range row.Cells {
			rows[i] = append(rows[i], multiple(c.Strip.center/least, c.Center))
		}
	}
	if len(g.Columns) == 1 {
		return grid{}
	}
	g.Rows = rows
	return g
}

func multiple(times float64, center string) string {
	if math.IsNaN(times) || math.IsInf(times, 0) {
		return center
	}
	return multipleText(times) + "\n" + center
}

// multipleText writes one digit behind the point, as long as it means anything:
// "14.6×", "230×".
func multipleText(times float64) string {
	if times < 100 {
		return fmt.Sprintf("%.1f×", times)
	}
	return quantity.Write(math.Round(times), "1") + "×"
}
