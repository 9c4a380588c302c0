package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/gatemark/gatemark/result"
)

// Options say what a terminal can show, and where the run lies.
type Options struct {
	// Width in columns; 0 means 100.
	Width int
	// Color marks severities and headings.
	Color bool
	// Directory of the run, to name the files in it; empty names none.
	Directory result.Directory
}

// minWidth is the narrowest a terminal's text is set.
const minWidth = 40

// Terminal writes the short form of the report: the verdict, the findings and
// the headline numbers, with how sure they are.
func Terminal(w io.Writer, run *result.Run, trials []*result.Trial, o Options) error {
	t := &terminal{Options: o.withDefaults()}
	v := newView(run, trials)
	t.verdicts(v)
	t.findings(v)
	for _, s := range v.Sections {
		t.section(v, s)
	}
	t.notOK(v)
	t.caveats(v)
	t.certainty(v)
	t.files()
	_, err := io.WriteString(w, t.b.String())
	return err
}

func (o Options) withDefaults() Options {
	if o.Width == 0 {
		o.Width = 100
	}
	o.Width = max(o.Width, minWidth)
	return o
}

type terminal struct {
	Options
	b strings.Builder
}

// The styles of a terminal, as escape sequences of ECMA-48.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

func (t *terminal) style(code, text string) string {
	if !t.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func severityStyle(s result.Severity) string {
	switch s {
	case result.Broken:
		return red
	case result.Costly:
		return yellow
	case result.Notable:
		return blue
	}
	return dim
}

func (t *terminal) line(text string) {
	t.b.WriteString(strings.TrimRight(text, " "))
	t.b.WriteByte('\n')
}

// paragraph wraps text behind an indent, in a style.
func (t *terminal) paragraph(indent, style, text string) {
	for _, l := range wrap(printable(text), t.Width-displayWidth(indent)) {
		t.line(indent + t.style(style, l))
	}
}

// item wraps text behind a bullet.
func (t *terminal) item(text string) {
	bullet := "  - "
	for _, l := range wrap(printable(text), t.Width-len(bullet)) {
		t.line(bullet + l)
		bullet = "    "
	}
}

func (t *terminal) heading(title string) {
	t.line("")
	t.line(t.style(bold, printable(title)))
}

func (t *terminal) verdicts(v *view) {
	for _, d := range v.Verdicts {
		t.paragraph("", bold, d.String())
	}
	env := v.Run.Environment
	where := fmt.Sprintf("%s, Kubernetes %s, %s, Gateway API %s %s", cluster(env.Cluster), env.Cluster.Version,
		machines(env.Cluster.Nodes), env.GatewayAPI.Version, env.GatewayAPI.Channel)
	t.paragraph("", dim, where)
}

func (t *terminal) findings(v *view) {
	t.heading("Findings")
	if len(v.Findings) == 0 {
		t.paragraph("  ", "", "Nothing was found. What was looked for:")
		if len(v.LookedFor) == 0 {
			t.item("nothing: no trial is valid")
		}
		for _, l := range v.LookedFor {
			t.item(l)
		}
		return
	}
	for _, g := range v.Findings {
		for _, f := range g.Items {
			label := pad(printable(string(f.Severity)), 8)
			indent := "  " + strings.Repeat(" ", displayWidth(label)) + " "
			for i, l := range wrap(printable(f.Texts[0]), t.Width-displayWidth(indent)) {
				if i == 0 {
					t.line("  " + t.style(severityStyle(f.Severity), label) + " " + l)
				} else {
					t.line(indent + l)
				}
			}
			about := f.ID + ", " + f.Where()
			if len(v.Treatments) > 1 {
				about = g.Treatment.Title + ", " + about
			}
			if more := len(f.Texts) - 1; more > 0 {
				about += fmt.Sprintf(", and %d more of its kind", more)
			}
			t.paragraph(indent, dim, about)
		}
	}
}

func (t *terminal) section(v *view, s *section) {
	if len(s.Headline) == 0 {
		return // its trials stand below, with why there are no numbers
	}
	t.heading(s.Title)
	first := "Metric"
	if len(s.Arms) > 1 {
		first = "Implementation"
	}
	rows := [][]string{{first, "Median", "Bounds", "Samples"}}
	var groups []string // a metric's title above its rows, where there are several
	for _, m := range s.Headline {
		for i, a := range s.Arms {
			label, group := m.Title, ""
			if len(s.Arms) > 1 {
				label = "  " + a.Treatment.Title
				if i == 0 {
					group = m.Title
					if m.Better != "" {
						group += " (" + m.Better + " is better)"
					}
				}
			}
			c := m.Cells[i]
			rows = append(rows, []string{label, c.Center, bracketed(c.Bounds), samples(c)})
			groups = append(groups, group)
		}
	}
	t.table(rows, groups)
	t.paragraph("  ", dim, s.Note)
	t.compared(s.Compared())
	t.relative(s.Relative())
	t.compared(s.ComparedCosts())
}

// compared shows a comparison as the other formats do.
func (t *terminal) compared(g grid) {
	if len(g.Rows) == 0 {
		return
	}
	t.line("")
	t.paragraph("  ", bold, g.Title)
	rows, groups := [][]string{{"Implementation", "Ratio", "p", "Verdict"}}, []string(nil)
	group := ""
	for _, row := range g.Rows {
		if row[6] == reference {
			title, better, has := strings.Cut(row[0], "\n")
			group = title
			if has {
				group += " (" + better + ")"
			}
			continue // it has nothing to be compared with
		}
		said := []string{strings.ReplaceAll(row[6], "\n", "; ")}
		if row[3] != "" {
			said = append(said, "difference "+inLine(row[3]))
		}
		rows = append(rows, []string{"  " + row[1], inLine(row[4]), row[5], strings.Join(said, "; ")})
		groups, group = append(groups, group), ""
	}
	t.table(rows, groups)
	t.paragraph("  ", dim, g.Note)
}

// relative shows what each implementation uses as a multiple of the least.
func (t *terminal) relative(g grid) {
	if len(g.Rows) == 0 {
		return
	}
	t.line("")
	t.paragraph("  ", bold, g.Title)
	for _, row := range g.Rows {
		var parts []string
		for i, cell := range row[1:] {
			times, center, _ := strings.Cut(cell, "\n")
			parts = append(parts, strings.TrimSpace(g.Columns[i+1].Title+" "+times+" "+bracketed(center)))
		}
		t.item(row[0] + ": " + strings.Join(parts, ", "))
	}
	t.paragraph("  ", dim, g.Note)
}

func bracketed(bounds string) string {
	if bounds == "" {
		return ""
	}
	return "[" + bounds + "]"
}

// samples says in one line what a number rests on.
func samples(c metricCell) string {
	var parts []string
	if len(c.Blocks) > 0 {
		parts = append(parts, strings.Join(c.Blocks, " · "))
	}
	for _, p := range []string{c.Censored, c.Zero, c.N} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(append(parts, c.Warnings...), "; ")
}

// table aligns rows; the last column wraps. The first row is the head.
func (t *terminal) table(rows [][]string, groups []string) {
	const gap = "  "
	columns := len(rows[0])
	widths := make([]int, columns)
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
	}
	// Long names leave room for what is said about them.
	widths[0] = min(widths[0], max(24, t.Width*2/5))
	used := displayWidth(gap)
	for _, w := range widths[:columns-1] {
		used += w + len(gap)
	}
	room := t.Width - used
	below := room < 20 // too narrow: the last column goes to a line of its own
	for n, row := range rows {
		if n > 0 && groups[n-1] != "" {
			t.paragraph(gap, "", groups[n-1])
		}
		label, rest := labelLines(row[0], widths[0])
		line := gap + pad(label, widths[0]) + gap + padLeft(row[1], widths[1]) + gap + pad(row[2], widths[2]) + gap
		if n == 0 {
			if !below {
				line += row[3]
			}
			t.line(t.style(dim, strings.TrimRight(line, " ")))
			continue
		}
		last := wrap(row[3], max(room, 20))
		if below {
			last = nil
		}
		for i := range max(1, len(rest)+1, len(last)) {
			if i > 0 {
				line = strings.Repeat(" ", used)
				if i <= len(rest) {
					line = gap + pad(rest[i-1], used-len(gap))
				}
			}
			if i < len(last) {
				line += t.style(dim, last[i])
			}
			t.line(line)
		}
		if below {
			t.paragraph(gap+gap, dim, row[3])
		}
	}
}

// labelLines breaks a label, keeping its indent.
func labelLines(label string, columns int) (first string, rest []string) {
	indent := label[:len(label)-len(strings.TrimLeft(label, " "))]
	lines := wrap(label, columns-len(indent))
	if len(lines) == 0 {
		return "", nil
	}
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines[0], lines[1:]
}

func (t *terminal) notOK(v *view) {
	if len(v.NotOK.Rows) == 0 {
		return
	}
	t.heading("Trials that are not ok")
	for _, row := range v.NotOK.Rows {
		outcome := pad(printable(row[0]), 11)
		head := strings.ReplaceAll(row[1], "\n", ", ")
		for i, l := range wrap(printable(head), t.Width-14) {
			if i == 0 {
				t.line("  " + t.style(yellow, outcome) + " " + l)
			} else {
				t.line(strings.Repeat(" ", 14) + l)
			}
		}
		for _, why := range strings.Split(row[2], "\n") {
			t.paragraph(strings.Repeat(" ", 14), dim, why)
		}
	}
}

// caveats are what a reader must know of each implementation as it was.
func (t *terminal) caveats(v *view) {
	begun, seen := false, map[string]bool{}
	say := func(i installed, text string) {
		if !begun {
			t.heading("What must be known")
			begun = true
		}
		if len(v.Where.Implementations) > 1 {
			text = i.Treatment.Title + ": " + text
		}
		if !seen[text] { // a copy has its original's
			seen[text] = true
			t.item(text)
		}
	}
	for _, i := range v.Where.Implementations {
		for _, quirk := range i.Quirks {
			say(i, quirk)
		}
		for _, row := range i.Deviations.Rows {
			say(i, "not upstream's default: "+row[0])
		}
	}
}

func (t *terminal) certainty(v *view) {
	t.heading("How sure this is")
	for _, c := range v.Certainty {
		t.item(c)
	}
}

func (t *terminal) files() {
	if t.Directory == "" {
		return
	}
	t.heading("Report")
	for _, f := range formats {
		t.line("  " + strings.TrimSuffix(string(t.Directory), "/") + "/" + f.file)
	}
}
