package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A trialView is a trial as it is shown.
type trialView struct {
	*result.Trial
	Anchor     string
	Treatment  treatment
	Standing   string
	Counts     bool // as evidence
	Facts      []fact
	Parameters string
	Gates      grid
	Metrics    grid
	Tables     []grid
	Events     grid
	Data       grid
	// Source is the trial's file, relative to the report.
	Source string
}

func newTrialView(anchor string, t *result.Trial, treatment treatment) *trialView {
	v := &trialView{
		Trial: t, Anchor: anchor, Treatment: treatment, Standing: standing(t), Counts: valid(t),
		Source: "trials/" + url.PathEscape(t.ID) + "/trial.json",
	}
	v.Facts = []fact{
		{"Trial", t.ID},
		{"Run", t.RunID},
		{"Implementation", t.Implementation},
		{"Scenario", scenarioName(t.Scenario, t.Variant)},
		{"Block", fmt.Sprintf("%d, attempt %d", t.Block, t.Attempt)},
		{"Started", instant(t.Started)},
		{"Took", quantity.Duration(t.Duration)},
		{"Outcome", string(t.Outcome)},
		{"Schema", t.SchemaVersion},
	}
	if t.Reason != "" {
		v.Facts = append(v.Facts, fact{"Reason", t.Reason})
	}
	v.Parameters = indented(t.Parameters)
	v.Gates = gateGrid(t.Gates).compact()
	v.Metrics = metricGrid(t.Metrics).compact()
	for _, table := range t.Tables {
		v.Tables = append(v.Tables, grid{Name: table.Name, Title: table.Title, Columns: tableColumns(table), Rows: table.Rows})
	}
	v.Events = eventGrid(t.Events).compact()
	v.Data = dataGrid(t).compact()
	return v
}

func gateGrid(gates []result.Gate) grid {
	g := grid{
		Title:   "Validity gates",
		Note:    "What had to hold for this trial to be evidence.",
		Columns: slices.Concat(text("Gate", "Held"), numbers("Value", "Limit"), text("What was compared")),
	}
	for _, gate := range gates {
		held := "yes"
		if !gate.OK {
			held = "no"
		}
		scale := quantity.For(cmp.Or(gate.Limit, gate.Value), gate.Unit)
		if math.Abs(gate.Value)*1000 < math.Abs(gate.Limit) {
			// Far apart, they have no scale in common.
			g.Rows = append(g.Rows, []string{gate.Name, held, quantity.Write(gate.Value, gate.Unit), scale.Setting(gate.Limit), gate.Text})
			continue
		}
		g.Rows = append(g.Rows, []string{gate.Name, held, scale.Write(gate.Value), scale.Setting(gate.Limit), gate.Text})
	}
	return g
}

// maxEvents bounds the events listed for one trial; its file has all.
const maxEvents = 200

func eventGrid(events []result.Event) grid {
	g := grid{Title: "Events", Columns: slices.Concat(numbers("At"), text("Event", "Object", "What happened"))}
	for i, e := range events {
		if i == maxEvents {
			g.Note = fmt.Sprintf("The first %d of %s.", maxEvents, quantity.Count(len(events)))
			break
		}
		g.Rows = append(g.Rows, []string{quantity.For(1, "s").Write(e.At), e.Name, e.Object, e.Text})
	}
	return g
}

// dataGrid lists the raw data that a trial's file has.
func dataGrid(t *result.Trial) grid {
	g := grid{
		Title:   "Raw data",
		Note:    "Every row is in the trial's file.",
		Columns: slices.Concat(text("Series", "Column", "Unit"), numbers("Rows", "Empty", "Min", "Median", "Max")),
	}
	for _, s := range t.Series {
		name := s.Name
		if s.Title != "" {
			name += ": " + s.Title
		}
		for _, c := range s.Columns {
			title := c.Name
			if c.Title != "" {
				title += ": " + c.Title
			}
			row := []string{name, title, c.Unit, quantity.Count(s.Len())}
			g.Rows = append(g.Rows, append(row, columnSummary(c)...))
			name = ""
		}
	}
	return g
}

func columnSummary(c result.Column) []string {
	if len(c.Labels) > 0 {
		distinct := map[string]bool{}
		for _, l := range c.Labels {
			distinct[l] = true
		}
		names := slices.Sorted(maps.Keys(distinct))
		shown := joinWords(names)
		if len(names) > 4 {
			shown = quantity.Count(len(names)) + " labels"
		}
		return []string{"", shown, "", ""}
	}
	s := stat.Summarize(c.Values, stat.Options{})
	empty := len(c.Values) - s.N
	scale := quantity.For(s.P50, c.Unit)
	if math.IsNaN(s.P50) {
		scale = quantity.For(0, c.Unit)
	}
	return []string{quantity.Count(empty), scale.Write(s.Min), scale.Write(s.P50), scale.Write(s.Max)}
}

// tableColumns aligns columns of numbers right.
func tableColumns(t result.Table) []column {
	columns := text(t.Columns...)
	for i := range columns {
		columns[i].Number = len(t.Rows) > 0
		for _, row := range t.Rows {
			if i < len(row) && !looksNumeric(row[i]) {
				columns[i].Number = false
			}
		}
	}
	return columns
}

func looksNumeric(cell string) bool {
	if cell == "" || cell == "–" || cell == "-" {
		return true
	}
	c := cell[0]
	return c >= '0' && c <= '9' || (c == '-' || c == '+' || c == '<' || c == '~') && len(cell) > 1 && cell[1] >= '0' && cell[1] <= '9'
}

// indented lays out JSON for reading. What is not JSON is shown as it is.
func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}
