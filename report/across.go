package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// Thresholds of findings that take several implementations. They are meant for
// what strikes everybody, not for what a test can just tell: those differences
// stand in the comparison.
const (
	// timesOthers is from how many times the median of the others on an
	// implementation is an outlier. It takes two others at least.
	timesOthers = 5
	// timesBest is from how many times the best on it is one.
	timesBest = 10
)

// An outlier is an arm's metric held against those of the others. Ratios are
// above 1 where it is worse.
type outlier struct {
	row      metricRow
	arm      *arm
	cell     metricCell
	toOthers float64 // NaN with fewer than two others
	toBest   float64
	best     *arm
	bestCell metricCell
	// trials are the arm's, least the fewest of another.
	trials, least int
}

// across finds the outliers of a section: implementations far worse than the
// rest in a headline metric, or in what they use up.
func (s *section) across(arm *arm) []findingItem {
	var items []findingItem
	if arm.Treatment.Again != "" {
		return nil // found with the first
	}
	for _, row := range s.All {
		asked := slices.ContainsFunc(s.Headline, func(h metricRow) bool { return h.Name == row.Name })
		if !asked && !isCost(row.Name) {
			continue
		}
		if o, ok := s.outlier(row, arm); ok {
			items = append(items, o.finding(s))
		}
	}
	return items
}

func (s *section) outlier(row metricRow, a *arm) (outlier, bool) {
	if isCost(row.Name) {
		row.Better = "lower"
	}
	if row.Better == "" {
		return outlier{}, false
	}
	o := outlier{row: row, arm: a, toOthers: math.NaN(), toBest: math.NaN(), least: math.MaxInt}
	var ratios []float64
	for i, other := range s.Arms {
		if other == a {
			o.cell = row.Cells[i]
		}
	}
	ours := o.cell.Strip
	for i, other := range s.Arms {
		theirs := row.Cells[i].Strip
		if other == a || other.Treatment.Again != "" || math.IsNaN(theirs.center) {
			continue
		}
		ratio := worseBy(ours.center, theirs.center, row.Better)
		if math.IsNaN(ratio) || math.Abs(ours.center-theirs.center) < row.Resolution || !apart(ours, theirs, row.Better) {
			return o, false // as good as one of them, or not comparable
		}
		ratios = append(ratios, ratio)
		o.least = min(o.least, len(theirs.values()))
		if !(o.toBest >= ratio) {
			o.toBest, o.best, o.bestCell = ratio, other, row.Cells[i]
		}
	}
	if len(ratios) == 0 {
		return o, false
	}
	if len(ratios) > 1 {
		// The median of the others' values is at the median of the ratios.
		slices.Sort(ratios)
		o.toOthers = ratios[(len(ratios)-1)/2]
	}
	o.trials = len(ours.values())
	return o, o.toOthers >= timesOthers || o.toBest >= timesBest
}

// worseBy is how many times worse ours is; NaN where a ratio means nothing. One
// that was not seen is infinitely worse.
func worseBy(ours, theirs float64, better string) float64 {
	if better == "higher" {
		ours, theirs = theirs, ours
	}
	if theirs <= 0 || math.IsInf(theirs, 0) {
		return math.NaN()
	}
	return ours / theirs
}

// apart reports whether every trial of ours is worse than every one of theirs.
// Where there are six and more of each the test of the comparison would say so
// too; with fewer this is all that can be asked.
func apart(ours, theirs strip, better string) bool {
	if better == "higher" {
		return slices.Max(ours.values()) < slices.Min(theirs.values())
	}
	return slices.Min(ours.values()) > slices.Max(theirs.values())
}

func (o outlier) finding(s *section) findingItem {
	severity := result.Notable
	if isCost(o.row.Name) {
		severity = result.Costly
	}
	var parts []string
	if o.toOthers >= timesOthers {
		parts = append(parts, timesWord(o.toOthers)+" the median of the others")
	}
	if o.toBest >= timesBest || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%s the best, %s with %s", timesWord(o.toBest), o.best.Treatment.Title, o.bestCell.Center))
	}
	sentence := fmt.Sprintf("%s: %s, %s", o.row.Title, o.cell.Center, strings.Join(parts, ", and "))
	if o.row.Better == "higher" {
		sentence = fmt.Sprintf("%s: %s, worse by %s", o.row.Title, o.cell.Center, strings.Join(parts, ", and "))
	}
	item := findingItem{
		ID: s.Scenario.Name + "/" + o.row.Name + "-outlier", Severity: severity, Scenario: s.Name,
		Texts: []string{sentence}, In: o.trials, Of: o.trials,
		Across: fmt.Sprintf("over %s, and %d or more of each other", quantity.Plural(o.trials, "trial", "trials"), o.least),
	}
	evidence := result.Evidence{Name: "medians of all implementations, and of their trials", Text: o.table(s)}
	for _, t := range o.arm.Trials {
		if t.Counts {
			item.Places = append(item.Places, findingPlace{Trial: t.Trial, Anchor: t.Anchor, Finding: result.Finding{
				ID: item.ID, Severity: severity, Text: sentence, Evidence: []result.Evidence{evidence},
			}})
			break // one trial is enough to lead to the others
		}
	}
	return item
}

// table lists what the finding rests on, a line for each implementation.
func (o outlier) table(s *section) string {
	var lines []string
	for i, a := range s.Arms {
		c := o.row.Cells[i]
		line := a.Treatment.Title + ": " + c.Center
		if len(c.Blocks) > 0 {
			line += " (" + strings.Join(c.Blocks, " · ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func timesWord(ratio float64) string {
	if math.IsInf(ratio, 1) {
		return "beyond any multiple of"
	}
	return strings.TrimSuffix(multipleText(ratio), "×") + " times"
}

// noiseFloor says what comparing a thing with itself came to.
func (v *view) noiseFloor() []string {
	var list []string
	for _, s := range v.Sections {
		if s.Comparison == nil {
			continue
		}
		tested, differing := 0, []string{}
		title, widest, metric := "", stat.Interval{}, ""
		for _, m := range slices.Concat(s.Comparison.Headline.Metrics, s.Comparison.Costs.Metrics) {
			for _, other := range m.Others {
				if !other.Control || other.Raw.Verdict == stat.TooFew {
					continue
				}
				title = m.Reference.Treatment.Title
				tested++
				if other.Raw.Verdict == stat.Shown {
					differing = append(differing, m.Title)
				}
				if r := other.Raw.Ratio; r.Bounded() && r.Hi/r.Lo > widest.Hi/max(widest.Lo, 1e-300) {
					widest, metric = r, m.Title
				}
			}
		}
		if tested == 0 {
			continue
		}
		line := fmt.Sprintf("Noise floor of %s: %s was measured as two implementations.", s.Name, title)
		if metric != "" {
			line += fmt.Sprintf(" Least sure is %q, with a ratio to itself of %s.", metric, inLine(ratioText(widest)))
		}
		if len(differing) > 0 {
			line += fmt.Sprintf(" It differs from itself in %d of %d headline metrics and costs (%s): a difference there that is no larger is no evidence.", len(differing), tested, joinWords(differing))
		}
		list = append(list, line)
	}
	return list
}
