package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
)

// writeMarkdown writes the report for a pull request, an issue or a wiki.
// Pictures are files beside it.
func writeMarkdown(w io.Writer, v *view) error {
	m := &markdown{}
	m.hero(v)
	m.findings(v)
	m.results(v)
	for _, s := range v.Sections {
		m.section(s)
	}
	m.where(v)
	_, err := io.WriteString(w, m.b.String())
	return err
}

// markdown collects text. What it is given is escaped; only its own marks are
// not.
type markdown struct {
	b     strings.Builder
	empty bool // the last line is
}

// line writes a line, or several. Empty lines do not add up.
func (m *markdown) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	for m.empty && strings.HasPrefix(text, "\n") {
		text = text[1:]
	}
	if text != "" {
		m.b.WriteString(text)
		m.empty = text == "\n" || strings.HasSuffix(text, "\n\n")
	}
}

func (m *markdown) heading(level int, title string) {
	m.line("\n%s %s\n", strings.Repeat("#", level), escape(title))
}

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.line("- %s", escape(item))
	}
}

func (m *markdown) facts(facts []fact) {
	for _, f := range facts {
		m.line("- %s: %s", escape(f.Name), escape(f.Value))
	}
}

// fold puts what is long behind a line that opens it.
func (m *markdown) fold(summary string, content func()) {
	m.line("\n<details><summary>%s</summary>\n", html.EscapeString(summary))
	content()
	m.line("\n</details>\n")
}

// fence shows text as it is, in a fence longer than any inside it.
func (m *markdown) fence(language, text string) {
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", max(3, longest+1))
	m.line("\n%s%s", fence, language)
	m.b.WriteString(strings.TrimRight(text, "\n") + "\n")
	m.line("%s\n", fence)
}

func (m *markdown) grid(g grid) {
	if len(g.Rows) == 0 {
		return
	}
	if g.Title != "" {
		title := escape(g.Title)
		if g.Name != "" {
			title += " (" + code(g.Name) + ")"
		}
		m.line("\n**%s**", title)
	}
	if g.Note != "" {
		m.line("\n%s", escape(g.Note))
	}
	m.line("")
	titles, rules := make([]string, len(g.Columns)), make([]string, len(g.Columns))
	for i, c := range g.Columns {
		titles[i], rules[i] = cellText(c.Title), "---"
		if c.Number {
			rules[i] = "---:"
		}
	}
	m.row(titles)
	m.row(rules)
	for _, row := range g.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = cellText(c)
		}
		m.row(cells)
	}
}

func (m *markdown) row(cells []string) { m.line("| %s |", strings.Join(cells, " | ")) }

func (m *markdown) hero(v *view) {
	m.line("# %s", escape(v.Title))
	m.line("")
	for _, d := range v.Verdicts {
		m.line("- **%s**: %s; %s", escape(d.Treatment.Title), escape(d.Done), escape(d.FoundText()))
	}
	m.line("")
	for _, f := range v.Header {
		value := escape(f.Value)
		if f.Name == "Command" {
			value = code(f.Value)
		}
		m.line("- %s: %s", escape(f.Name), value)
	}
	m.heading(2, "How sure this is")
	m.list(v.Certainty)
}

func (m *markdown) findings(v *view) {
	m.heading(2, "Findings")
	if len(v.Findings) == 0 {
		m.line("Nothing was found. What was looked for:\n")
		if len(v.LookedFor) == 0 {
			m.line("- nothing: no trial is valid")
		}
		m.list(v.LookedFor)
		return
	}
	for _, g := range v.Findings {
		if len(v.Treatments) > 1 {
			m.heading(3, g.Treatment.Title)
		}
		for _, f := range g.Items {
			m.finding(f)
		}
	}
	if quiet := v.Quiet(); quiet != "" {
		m.line("\nNo findings about %s.", escape(quiet))
	}
}

func (m *markdown) finding(f findingItem) {
	m.line("\n**%s** %s, %s\n", f.Severity, code(f.ID), f.Where())
	for _, text := range f.Shown() {
		m.line("> %s\n", escape(text))
	}
	if f.Vary {
		m.line("Numbers differ from trial to trial.\n")
	}
	if f.More() > 0 {
		m.line("And %d more of its kind.\n", f.More())
	}
	m.fold("Evidence", func() {
		for _, p := range f.Places {
			m.line("%s, %s: %s\n", code(p.Trial.ID), p.Finding.Severity, escape(p.Finding.Text))
			m.evidence(p.Trial, p.Finding.Evidence)
		}
	})
}

func (m *markdown) evidence(t *result.Trial, evidence []result.Evidence) {
	if len(evidence) == 0 {
		m.line("No evidence was kept.")
	}
	for _, e := range evidence {
		line := "- " + escape(e.Name)
		if e.File != "" {
			line += fmt.Sprintf(": [%s](%s)", escape(e.File), evidencePath(t, e.File))
		}
		m.line("%s", line)
		if e.Text != "" {
			m.fence("", e.Text)
		}
	}
}

func (m *markdown) results(v *view) {
	m.heading(2, "Results")
	m.line("Medians, with bounds at 95 %% confidence or better in brackets and the number of samples n. Invalid trials are left out.")
	for _, s := range v.Sections {
		m.heading(3, s.Title)
		if s.Question != "" {
			m.line("%s", escape(s.Question))
		}
		if len(s.Headline) == 0 {
			for _, a := range s.Arms {
				m.line("\nNo numbers: %s, %s.", escape(a.Treatment.Title), a.Outcomes)
			}
			continue
		}
		m.grid(headlineGrid(s))
		if s.Note != "" {
			m.line("\n%s", escape(s.Note))
		}
		m.grid(s.Compared())
		m.grid(s.Relative())
		m.grid(s.ComparedCosts())
	}
	m.grid(v.NotOK)
}

func headlineGrid(s *section) grid {
	g := grid{Columns: text("Implementation")}
	for _, row := range s.Headline {
		title := row.Title
		if row.Better != "" {
			title += " (" + row.Better + " is better)"
		}
		g.Columns = append(g.Columns, column{Title: title, Number: true})
	}
	for i, a := range s.Arms {
		cells := []string{a.Treatment.Title + "\n" + a.Outcomes}
		for _, row := range s.Headline {
			cells = append(cells, metricText(row.Cells[i]))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// allGrid has a row for every metric and a column for every implementation.
func allGrid(s *section) grid {
	g := grid{Title: "Every metric", Columns: text("Metric")}
	for _, a := range s.Arms {
		g.Columns = append(g.Columns, column{Title: a.Treatment.Title, Number: true})
	}
	for _, row := range s.All {
		cells := []string{row.Title + "\n" + row.Name}
		for _, c := range row.Cells {
			cells = append(cells, metricText(c))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// metricText writes a cell in lines.
func metricText(c metricCell) string {
	first := c.Center
	if c.Bounds != "" {
		first += " [" + c.Bounds + "]"
	}
	lines := []string{first}
	for _, l := range []string{c.Censored, c.Zero, c.N, strings.Join(c.Blocks, " · ")} {
		if l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(append(lines, c.Warnings...), "\n")
}

func (m *markdown) section(s *section) {
	m.heading(2, s.Title)
	m.line("Scenario %s.", code(s.Name))
	if s.Question != "" {
		m.line("\n_%s_", escape(s.Question))
	}
	if s.Method != "" {
		m.line("\n%s", escape(s.Method))
	}
	for _, f := range s.Figures {
		m.figure(f)
	}
	if t := s.Single(); t != nil {
		m.trial(t)
	} else {
		m.grid(allGrid(s))
		m.grid(s.ComparedRest())
		for _, g := range s.Tables() {
			m.grid(g)
		}
	}
	for _, t := range s.Folded() {
		m.fold(fmt.Sprintf("Trial %s: %s, %s, %s", t.ID, t.Outcome, t.Treatment.Title, t.Standing), func() { m.trial(t) })
	}
}

func (m *markdown) figure(f figure) {
	m.heading(3, f.Title)
	if f.Caption != "" {
		m.line("%s\n", escape(f.Caption))
	}
	for _, p := range f.Panels {
		if p.Title != "" {
			m.line("\n%s\n", escape(p.Title))
		}
		m.line("![%s](%s)", escape(p.Chart.Title), picturePath(p))
	}
	m.fold("Data behind this figure", func() {
		m.line("Figure %s. %s\n", code(f.Name), escape(f.Description))
		m.list(f.Notes)
		for _, s := range f.Sources {
			m.line("- %s", escape(s.String()))
		}
	})
}

func (m *markdown) trial(t *trialView) {
	if !t.Counts {
		m.line("\nThis trial is %s. Nothing in it enters a summary.", t.Outcome)
	}
	m.line("")
	m.list(t.Trial.Notes)
	for _, g := range t.Tables {
		m.grid(g)
	}
	m.grid(t.Metrics)
	m.grid(t.Gates)
	if len(t.Findings) > 0 {
		m.line("\n**Found in this trial**\n")
		for _, f := range t.Findings {
			m.line("- %s %s: %s", f.Severity, code(f.ID), escape(f.Text))
			if !t.Counts {
				m.evidence(t.Trial, f.Evidence)
			}
		}
	}
	m.fold("About this trial", func() {
		m.facts(t.Facts)
		if t.Parameters != "" {
			m.fence("json", t.Parameters)
		}
		m.grid(t.Events)
		m.grid(t.Data)
		m.line("\nEverything: [%s](%s)", escape(t.Source), t.Source)
	})
}

func (m *markdown) where(v *view) {
	m.heading(2, "What it ran on")
	m.facts(v.Where.Facts)
	if len(v.Where.Placement) > 0 {
		m.heading(3, "Placement")
		m.list(v.Where.Placement)
	}
	m.grid(v.Where.Nodes)
	m.grid(v.Where.Projects)
	for _, i := range v.Where.Implementations {
		m.heading(3, i.Treatment.Title)
		m.facts(i.Facts)
		m.grid(i.Images)
		if len(i.Deviations.Rows) == 0 {
			m.line("\nNo deviations from upstream's defaults.")
		}
		m.grid(i.Deviations)
		if len(i.Quirks) > 0 {
			m.line("\n**Quirks**\n")
			m.list(i.Quirks)
		}
	}
	if n := len(v.Where.Schedule.Rows); n > 0 {
		m.fold(fmt.Sprintf("Schedule, %s in their order", quantity.Plural(n, "planned trial", "planned trials")), func() { m.grid(v.Where.Schedule) })
	}
	if v.Where.Plan != "" {
		m.fold("Plan, with every default filled in", func() { m.fence("json", v.Where.Plan) })
	}
	m.line("\nEverything, with the raw data, is in [report.json](report.json).")
}
