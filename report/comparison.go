package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A comparison holds the arms of a section against one of them.
type comparison struct {
	Reference treatment
	// Families are sets of metrics whose p-values are adjusted together: the
	// headline, which is what the scenario asks for, what that costs, and the
	// rest.
	Headline, Costs, Rest family
}

// A family is one set of tests, adjusted together by Holm's method.
type family struct {
	Metrics []comparedMetric
	// Tests counts those that could have shown a difference.
	Tests int
}

// A comparedMetric is one metric of several arms.
type comparedMetric struct {
	Name, Title, Unit, Better string
	Reference                 comparedArm
	Others                    []comparedArm
}

// A comparedArm is one arm's trials, held against the reference's.
type comparedArm struct {
	Treatment treatment
	// Values are the trials' centers: +Inf where one was not seen.
	Values []float64
	Cell   metricCell
	// Raw is the comparison as it stands alone, Adjusted after Holm; both are
	// zero for the reference.
	Raw, Adjusted stat.Comparison
	// Control says that this is the reference itself, once more: what differs
	// is noise.
	Control bool
}

// repeats reports whether any arm has several valid trials: single ones stand
// side by side in the results, and there is nothing to test.
func (s *section) repeats() bool {
	return slices.ContainsFunc(s.Arms, func(a *arm) bool { return len(a.Valid) > 1 })
}

// compare holds the arms against the one that comes first in the plan. It is
// nil where there is nothing to compare.
func (s *section) compare(order []string) *comparison {
	var arms []*arm
	for _, a := range s.Arms {
		if len(a.Valid) > 0 {
			arms = append(arms, a)
		}
	}
	if len(arms) < 2 || !s.repeats() {
		return nil
	}
	slices.SortStableFunc(arms, func(a, b *arm) int {
		return cmp.Compare(standsAt(order, a.Treatment), standsAt(order, b.Treatment))
	})
	c := &comparison{Reference: arms[0].Treatment}
	var cost, rest []metricRow
	for _, row := range s.All {
		switch {
		case slices.ContainsFunc(s.Headline, func(h metricRow) bool { return h.Name == row.Name }):
		case isCost(row.Name):
			cost = append(cost, row)
		default:
			rest = append(rest, row)
		}
	}
	c.Headline, c.Costs, c.Rest = newFamily(s.Headline, arms), newFamily(cost, arms), newFamily(rest, arms)
	if len(c.Headline.Metrics)+len(c.Costs.Metrics)+len(c.Rest.Metrics) == 0 {
		return nil
	}
	return c
}

// standsAt is where a treatment stands in the plan; a repetition of another
// stands behind all that are not.
func standsAt(order []string, t treatment) int {
	at := slices.Index(order, t.Name)
	if at < 0 {
		at = len(order)
	}
	if t.Again != "" {
		at += len(order) + 1
	}
	return at
}

func newFamily(rows []metricRow, arms []*arm) family {
	var f family
	for _, row := range rows {
		if m, ok := compareMetric(row, arms); ok {
			f.Metrics = append(f.Metrics, m)
		}
	}
	f.adjust()
	return f
}

// compareMetric compares the arms that have a metric with the reference, if it
// has it.
func compareMetric(row metricRow, arms []*arm) (comparedMetric, bool) {
	m := comparedMetric{Name: row.Name, Title: row.Title, Unit: row.Unit, Better: row.Better}
	var compared []comparedArm
	for _, a := range arms {
		var values []float64
		for _, t := range a.Valid {
			if metric, ok := t.Metrics[row.Name]; ok {
				values = append(values, centerOf(metric))
			}
		}
		values = slices.DeleteFunc(values, math.IsNaN)
		compared = append(compared, comparedArm{Treatment: a.Treatment, Values: values, Cell: newMetricCell(row.Name, a.Valid)})
	}
	if len(compared[0].Values) == 0 {
		return m, false
	}
	m.Reference = compared[0]
	for _, other := range compared[1:] {
		if len(other.Values) == 0 {
			continue
		}
		other.Control = other.Treatment.Again == m.Reference.Treatment.Name
		other.Raw = stat.Compare(m.Reference.Values, other.Values, stat.CompareOptions{Resolution: row.Resolution, Unit: m.Unit})
		other.Adjusted = other.Raw
		m.Others = append(m.Others, other)
	}
	return m, len(m.Others) > 0
}

// adjust corrects for the number of tests. Controls are no tests: they ask
// nothing. Where every trial gave the same number no test could have shown
// anything, so that it does not count either (R. E. Tarone, "A Modified
// Bonferroni Method for Discrete Data", Biometrics 46, 1990).
func (f *family) adjust() {
	var tests []*comparedArm
	var p []float64
	for i := range f.Metrics {
		m := &f.Metrics[i]
		for j := range m.Others {
			other := &m.Others[j]
			if !other.Control && !math.IsNaN(other.Raw.P) && !constant(m.Reference.Values, other.Values) {
				tests, p = append(tests, other), append(p, other.Raw.P)
			}
		}
	}
	f.Tests = len(tests)
	for i, adjusted := range stat.Holm(p) {
		tests[i].Adjusted = tests[i].Raw.WithP(adjusted)
	}
}

func constant(a, b []float64) bool {
	first := a[0]
	return !slices.ContainsFunc(slices.Concat(a, b), func(v float64) bool { return v != first })
}

// Judgement is what a comparison means to a reader.
func (a comparedArm) Judgement(better string) string {
	switch a.Adjusted.Verdict {
	case stat.TooFew:
		return fmt.Sprintf("need >= %d, have %d", stat.NeedForBounds(stat.DefaultConfidence), min(a.Raw.A, a.Raw.B))
	case stat.NotShown:
		return a.Adjusted.Verdict.String()
	}
	larger := a.larger()
	switch {
	case a.Control:
		return "differs from itself"
	case better == "":
		return "differs"
	case larger == (better == "higher"):
		return "better"
	}
	return "worse"
}

// larger reports whether the arm's values exceed the reference's. The shift may
// be unknown where much was not seen.
func (a comparedArm) larger() bool {
	if shift := a.Raw.Shift; !math.IsNaN(shift.Center) {
		return shift.Center > 0
	}
	return a.Raw.Shift.Lo > 0
}

// planned are the treatments in the order of the plan.
func planned(run *result.Run) []string {
	var plan struct {
		Implementations []struct{ Name, Variant string }
	}
	if err := json.Unmarshal(run.Plan, &plan); err != nil {
		return nil // a plan of another time: the order is then that of names
	}
	var names []string
	for _, i := range plan.Implementations {
		names = append(names, strings.TrimSuffix(i.Name+"/"+i.Variant, "/"))
	}
	return names
}

// markControls names treatments that are installed exactly as an earlier one:
// the same thing twice, an A/A control.
func markControls(list []treatment) {
	for i := range list {
		for _, earlier := range list[:i] {
			if earlier.Again == "" && list[i].Implementation != nil && earlier.Implementation != nil &&
				reflect.DeepEqual(list[i].Implementation, earlier.Implementation) {
				list[i].Again = earlier.Name
				list[i].Title += " (again)"
				break
			}
		}
	}
}
