package tables

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Grid is a table. The first column is text, the others are numbers unless
// Words is set.
type Grid struct {
	Title string
	Notes []string // below it
	Head  []string
	Rows  [][]string
	Words bool
}

// Format is how grids are printed.
type Format int

// The formats.
const (
	Text Format = iota
	Markdown
)

// Write prints the grids.
func Write(w io.Writer, f Format, grids []Grid) error {
	var b strings.Builder
	for i, g := range grids {
		if i > 0 {
			b.WriteString("\n")
		}
		if f == Markdown {
			g.markdown(&b)
		} else {
			g.text(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g Grid) text(b *strings.Builder) {
	widths := g.widths()
	fmt.Fprintf(b, "%s\n", g.Title)
	rows := g.Rows
	if g.Head[0] != "" {
		rows = append([][]string{g.Head}, rows...)
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(" ")
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(" " + cell + gap)
			} else if g.Words {
				line.WriteString("  " + cell + gap)
			} else {
				line.WriteString("  " + gap + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	for _, n := range g.Notes {
		fmt.Fprintf(b, "  * %s\n", n)
	}
}

func (g Grid) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n\n", g.Title)
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", strings.ReplaceAll(c, "|", "\\|"))
		}
		b.WriteString("|\n")
	}
	line(g.Head)
	rule := make([]string, len(g.Head))
	for i := range rule {
		rule[i] = "---:"
		if g.Words {
			rule[i] = "---"
		}
	}
	rule[0] = "---"
	line(rule)
	for _, row := range g.Rows {
		line(row)
	}
	for _, n := range g.Notes {
		fmt.Fprintf(b, "\n%s\n", n)
	}
}

func (g Grid) widths() []int {
	widths := make([]int, len(g.Head))
	for _, row := range append([][]string{g.Head}, g.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
