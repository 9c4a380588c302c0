package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A metricRow is one metric of a section, with a cell for each arm.
type metricRow struct {
	Name   string
	Title  string
	Unit   string
	Better string
	// Resolution is the longest of the trials'.
	Resolution float64
	Cells      []metricCell
}

// A metricCell is what one arm's valid trials say about a metric.
type metricCell struct {
	// Center is the number to read first: the value or median, or the median
	// of the trials' ones. A dash where there is none.
	Center string
	// Bounds holds the center at 95 %, without the unit; empty for none.
	Bounds string
	// N is the number of samples behind it, in words.
	N string
	// Censored says what was not seen: "7 of 10 within 300 s".
	Censored string
	// Zero bounds the rate of what was never seen.
	Zero string
	// Blocks has each trial's center where there are several.
	Blocks []string
	// Warnings say what the center and its bounds cannot carry.
	Warnings []string
	// Strip draws center, bounds and blocks on the scale of the row.
	Strip strip
	// Exact is the center in base units, in full.
	Exact string
}

func (s *section) metricRow(name string) metricRow {
	row := metricRow{Name: name, Title: name}
	for _, a := range s.Arms {
		for _, t := range a.Valid {
			if m, ok := t.Metrics[name]; ok {
				row.Title, row.Unit, row.Better = cmp.Or(m.Title, name), m.Unit, m.Better
				row.Resolution = max(row.Resolution, m.Resolution)
			}
		}
	}
	for _, a := range s.Arms {
		cell := newMetricCell(name, a.Valid)
		cell.Strip.color = a.Treatment.Color
		row.Cells = append(row.Cells, cell)
	}
	row.scaleStrips()
	return row
}

func newMetricCell(name string, trials []*result.Trial) metricCell {
	var metrics []result.Metric
	for _, t := range trials {
		if m, ok := t.Metrics[name]; ok {
			metrics = append(metrics, m)
		}
	}
	switch len(metrics) {
	case 0:
		return metricCell{Center: "–", Strip: strip{center: math.NaN()}}
	case 1:
		return oneTrialCell(metrics[0])
	}
	return repeatedCell(metrics)
}

func oneTrialCell(m result.Metric) metricCell {
	center := centerOf(m)
	scale := quantity.For(center, m.Unit)
	c := metricCell{
		Center: centerText(center, scale), Bounds: bounds(scale, number(m.Lo), number(m.Hi)),
		Censored: censored(m.Censored, m.N, m.Limit, m.Unit), Warnings: aboutCenter(m.Warnings), Exact: exact(center, m.Unit),
	}
	c.Strip = strip{center: center, lo: number(m.Lo), hi: number(m.Hi)}
	c.describe(m.Value != nil, m.N, m.Unit, center)
	return c
}

// repeatedCell summarises trials by the median of their centers. A trial whose
// median lies beyond its limit counts as larger than all others.
func repeatedCell(metrics []result.Metric) metricCell {
	unit := metrics[0].Unit
	centers := make([]float64, len(metrics))
	n, unseen, limit, isValue := 0, 0, 0.0, true
	for i, m := range metrics {
		centers[i] = centerOf(m)
		n += m.N
		unseen += m.Censored
		limit = max(limit, m.Limit)
		isValue = isValue && m.Value != nil
	}
	s := stat.Summarize(centers, stat.Options{Limit: limit, Unit: unit})
	center := s.P50
	if math.IsNaN(center) && s.Censored > 0 {
		center = math.Inf(1)
	}
	scale := quantity.For(center, unit)
	c := metricCell{
		Center: centerText(center, scale), Bounds: bounds(scale, s.Lo, s.Hi),
		Censored: censored(unseen, n, limit, unit), Exact: exact(center, unit),
	}
	for _, v := range centers {
		c.Blocks = append(c.Blocks, strings.TrimSuffix(centerText(v, scale), " "+scale.Symbol))
	}
	c.Strip = strip{center: center, lo: s.Lo, hi: s.Hi, blocks: centers}
	c.describe(isValue, n, unit, center)
	return c
}

// describe says how many samples there are, and bounds what was never seen.
func (c *metricCell) describe(isValue bool, n int, unit string, center float64) {
	switch {
	case !isValue && c.Censored == "":
		c.N = "n " + quantity.Count(n)
	case isValue && n > 1 && len(c.Blocks) == 0:
		c.N = "of " + quantity.Count(n)
	}
	if isValue && center == 0 && n > max(1, len(c.Blocks)) && (unit == "1" || unit == "ratio") && allZero(c.Blocks) {
		c.Zero = fmt.Sprintf("none in %s: rate below %s at 95 %%", quantity.Count(n), quantity.Write(stat.RuleOfThree(n), "ratio"))
		c.N = ""
	}
}

func allZero(blocks []string) bool {
	return !slices.ContainsFunc(blocks, func(b string) bool { return b != "0" })
}

// aboutCenter leaves out warnings about the other quantiles, which stand in
// the table with these.
func aboutCenter(warnings []string) []string {
	var kept []string
	for _, w := range warnings {
		if !strings.Contains(w, "p9") {
			kept = append(kept, w)
		}
	}
	return kept
}

// centerOf is the value or median; +Inf where the median lies beyond the
// limit, NaN where there is none.
func centerOf(m result.Metric) float64 {
	switch {
	case m.Value != nil:
		return *m.Value
	case m.P50 != nil:
		return *m.P50
	case m.Censored > 0:
		return math.Inf(1)
	}
	return math.NaN()
}

func centerText(v float64, scale quantity.Scale) string {
	if math.IsInf(v, 1) {
		return "not seen"
	}
	return scale.Write(v)
}

func bounds(scale quantity.Scale, lo, hi float64) string {
	if math.IsNaN(lo) {
		return ""
	}
	if math.IsNaN(hi) {
		return scale.Number(lo) + "–?"
	}
	return scale.Number(lo) + "–" + scale.Number(hi)
}

// censored writes "7 of 10 within 300 s".
func censored(unseen, seen int, limit float64, unit string) string {
	if unseen == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s", quantity.Count(seen), quantity.Count(seen+unseen))
	if limit > 0 {
		text += " within " + quantity.Setting(limit, unit)
	}
	return text
}

func exact(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	if unit == "1" || unit == "" {
		return fmt.Sprintf("%v", v)
	}
	return fmt.Sprintf("%v %s", v, unit)
}

func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// metricGrid lists every number of a trial's metrics.
func metricGrid(metrics map[string]result.Metric) grid {
	g := grid{
		Title:   "Metrics",
		Columns: slices.Concat(text("Metric"), numbers("n", "Value", "Min", "Mean", "p50", "Bounds", "p90", "p95", "p99", "p99.9", "Max")),
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[name]
		about := append([]string{cmp.Or(m.Title, name), strings.Join(append([]string{name}, traits(m)...), ", ")}, remarks(m)...)
		row := []string{strings.Join(about, "\n"), quantity.Count(m.N)}
		for _, v := range []*float64{m.Value, m.Min, m.Mean, m.P50} {
			row = append(row, optional(v, m.Unit))
		}
		row = append(row, metricBounds(m))
		for _, v := range []*float64{m.P90, m.P95, m.P99, m.P999, m.Max} {
			row = append(row, optional(v, m.Unit))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func metricBounds(m result.Metric) string {
	if m.Lo == nil && m.Hi == nil {
		return ""
	}
	scale := quantity.For(cmp.Or(number(m.Lo), number(m.Hi)), m.Unit)
	text := fmt.Sprintf("%s–%s", scale.Number(number(m.Lo)), scale.Write(number(m.Hi)))
	if m.Confidence > 0 {
		text += "\nat " + quantity.Write(m.Confidence, "ratio")
	}
	return text
}

// remarks are what has to be known about the numbers.
func remarks(m result.Metric) []string {
	var list []string
	if c := censored(m.Censored, m.N, m.Limit, m.Unit); c != "" {
		list = append(list, "seen: "+c)
	} else if m.Limit > 0 {
		list = append(list, "all within "+quantity.Setting(m.Limit, m.Unit))
	}
	if m.Value != nil && *m.Value == 0 && m.N > 1 && (m.Unit == "1" || m.Unit == "ratio") {
		list = append(list, "none seen: rate below "+quantity.Write(stat.RuleOfThree(m.N), "ratio")+" at 95 %")
	}
	return append(list, m.Warnings...)
}

// traits are what a metric is, whatever was measured.
func traits(m result.Metric) []string {
	var list []string
	if m.Unit != "" && m.Unit != "1" {
		list = append(list, "unit "+m.Unit)
	}
	if m.Better != "" {
		list = append(list, m.Better+" is better")
	}
	if m.Resolution > 0 {
		list = append(list, "resolution "+quantity.Setting(m.Resolution, m.Unit))
	}
	return list
}

func optional(v *float64, unit string) string {
	if v == nil {
		return ""
	}
	return quantity.Write(*v, unit)
}
