package detection

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Line of the table is a row in one size, tried.
type Line struct {
	Row
	Size    Size
	Verdict Verdict
	// Sentence is what the user reads.
	Sentence string
	// Invalid counts the attempts that were no evidence.
	Invalid int
	// Again says that this was the second try: the first was no evidence, or
	// something ran beside it.
	Again bool
	Took  time.Duration
}

// Write prints lines as a table.
func Write(w io.Writer, lines []Line) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// A tabwriter keeps what it is given, and tells of errors at Flush.
	fmt.Fprintln(table, "WRONG\tSIZE\tSCENARIO\tVERDICT\tINVALID\tTOOK\tWHAT IT SAYS")
	for _, l := range lines {
		verdict := string(l.Verdict)
		if l.Again {
			verdict += " at the 2nd try"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Wrong, l.Size.Name, l.Scenario, verdict, l.Invalid, l.Took.Round(100*time.Millisecond), l.Sentence)
	}
	return table.Flush()
}

// Markdown is the matrix as a table for docs/detection.md: what is tried, and
// not what was measured.
func Markdown(rows []Row) string {
	var b strings.Builder
	b.WriteString("| what is wrong | sizes | found by | in words |\n|---|---|---|---|\n")
	for _, r := range rows {
		var names []string
		for _, s := range r.Sizes {
			names = append(names, s.Name)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s/%s` | \"... %s ...\" |\n", r.Wrong, strings.Join(names, ", "), r.Scenario, r.Finds, r.Says)
	}
	return b.String()
}
