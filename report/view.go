package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/result"
)

// A view is what every format shows, worked out once.
type view struct {
	Run    *result.Run
	Trials []*result.Trial

	Treatments []treatment
	Title      string
	Verdicts   []verdict
	// Certainty says how sure the numbers are, in sentences.
	Certainty []string
	// LookedFor says what was checked, where nothing was found.
	LookedFor []string
	Findings  []findingGroup
	Sections  []*section
	// NotOK lists the trials whose outcome is not ok, with why.
	NotOK grid
	// Missing counts the planned trials of which there is no trace.
	Missing int
	Header  []fact
	Where   where
}

// A treatment is one implementation as it was installed, under the name that
// trials give it.
type treatment struct {
	Name           string
	Title          string
	Color          int
	Implementation *result.Implementation
	// Again names the treatment that this one repeats: the same thing twice.
	Again string
}

// A fact is one line of a description.
type fact struct{ Name, Value string }

// A grid is a table of text.
type grid struct {
	// Name is the schema's name for it, where it has one.
	Name    string
	Title   string
	Note    string
	Columns []column
	Rows    [][]string
}

type column struct {
	Title  string
	Number bool // aligned right
}

func text(titles ...string) []column {
	var columns []column
	for _, t := range titles {
		columns = append(columns, column{Title: t})
	}
	return columns
}

func numbers(titles ...string) []column {
	var columns []column
	for _, t := range titles {
		columns = append(columns, column{Title: t, Number: true})
	}
	return columns
}

func newView(run *result.Run, trials []*result.Trial) *view {
	v := &view{Run: run, Trials: trials}
	v.Treatments = treatments(run, trials)
	v.Missing = missing(run, trials)
	v.Sections = v.sections()
	order := planned(run)
	for _, s := range v.Sections {
		s.Comparison = s.compare(order)
	}
	v.Findings = v.findings()
	v.LookedFor = v.lookedFor()
	v.Title = v.title()
	v.Verdicts = v.verdicts()
	v.Certainty = v.certainty()
	v.NotOK = v.notOK()
	v.Header = v.header()
	v.Where = v.where()
	return v
}

func treatments(run *result.Run, trials []*result.Trial) []treatment {
	names := map[string]bool{}
	for name := range run.Implementations {
		names[name] = true
	}
	for _, t := range trials {
		names[t.Implementation] = true
	}
	var list []treatment
	for i, name := range slices.Sorted(maps.Keys(names)) {
		t := treatment{Name: name, Title: name, Color: i}
		if implementation, ok := run.Implementations[name]; ok {
			t.Implementation = &implementation
			t.Title = implementationTitle(name, implementation)
		}
		list = append(list, t)
	}
	markControls(list)
	return list
}

func implementationTitle(name string, i result.Implementation) string {
	title := cmp.Or(i.Title, i.Name, name)
	if i.Version != "" {
		title += " " + i.Version
	}
	if i.Variant != "" {
		title += " (" + i.Variant + ")"
	}
	return title
}

func (v *view) treatment(name string) treatment {
	for _, t := range v.Treatments {
		if t.Name == name {
			return t
		}
	}
	return treatment{Name: name, Title: name}
}

// missing counts the planned trials without a result. A trial that was
// repeated because it was invalid has an id of its own, so that what counts is
// the treatment and the block.
func missing(run *result.Run, trials []*result.Trial) int {
	done := map[result.TrialRef]bool{}
	for _, t := range trials {
		done[result.TrialRef{Implementation: t.Implementation, Scenario: t.Scenario, Variant: t.Variant, Block: t.Block}] = true
	}
	n := 0
	for _, planned := range run.Schedule {
		planned.ID = ""
		if !done[planned] {
			n++
		}
	}
	return n
}

// valid reports whether a trial is evidence.
func valid(t *result.Trial) bool {
	return t.Outcome == result.OK || t.Outcome == result.Failed
}

// standing says in words where a trial stands: "block 2, attempt 1".
func standing(t *result.Trial) string {
	text := fmt.Sprintf("block %d", t.Block)
	if t.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	return text
}

// scenarioName is the scenario with its variant.
func scenarioName(scenario, variant string) string {
	if variant == "" {
		return scenario
	}
	return scenario + " (" + variant + ")"
}

// outcomes writes counts of outcomes: "4 ok, 1 invalid".
func outcomes(trials []*result.Trial) string {
	counts := map[result.Outcome]int{}
	for _, t := range trials {
		counts[t.Outcome]++
	}
	var parts []string
	for _, o := range []result.Outcome{result.OK, result.Failed, result.Unsupported, result.Invalid, result.Skipped} {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
			delete(counts, o)
		}
	}
	for _, o := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
	}
	return strings.Join(parts, ", ")
}

// slug turns a name into what can stand in an id.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// Repeated reports whether any implementation has several valid trials of one
// scenario.
func (v *view) Repeated() bool {
	for _, s := range v.Sections {
		for _, a := range s.Arms {
			if len(a.Valid) > 1 {
				return true
			}
		}
	}
	return false
}

// Quiet names the implementations without findings, where others have some.
func (v *view) Quiet() string {
	if len(v.Findings) == 0 {
		return ""
	}
	found := map[string]bool{}
	for _, g := range v.Findings {
		found[g.Treatment.Name] = true
	}
	var names []string
	for _, t := range v.Treatments {
		if !found[t.Name] {
			names = append(names, t.Title)
		}
	}
	return joinWords(names)
}

// compact drops the columns in which no row has anything.
func (g grid) compact() grid {
	var keep []int
	for i := range g.Columns {
		if slices.ContainsFunc(g.Rows, func(row []string) bool { return i < len(row) && row[i] != "" }) {
			keep = append(keep, i)
		}
	}
	pick := g
	pick.Columns, pick.Rows = nil, nil
	for _, i := range keep {
		pick.Columns = append(pick.Columns, g.Columns[i])
	}
	for _, row := range g.Rows {
		var cells []string
		for _, i := range keep {
			if i < len(row) {
				cells = append(cells, row[i])
			} else {
				cells = append(cells, "")
			}
		}
		pick.Rows = append(pick.Rows, cells)
	}
	return pick
}
