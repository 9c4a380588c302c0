package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A section is one scenario in one variant, on every implementation.
type section struct {
	Anchor   string
	Name     string
	Scenario result.Scenario
	Variant  string
	Title    string
	Question string
	Method   string
	// Note says once what holds for many of its numbers.
	Note string
	Arms []*arm
	// Headline are the metrics to show first; All has the others as well.
	Headline []metricRow
	All      []metricRow
	Figures  []figure
	// Comparison is nil where there is nothing to compare.
	Comparison *comparison
}

// An arm is the trials of one implementation in a section.
type arm struct {
	Treatment treatment
	Trials    []*trialView
	Valid     []*result.Trial
	Outcomes  string
}

func (s *section) arm(treatment string) *arm {
	for _, a := range s.Arms {
		if a.Treatment.Name == treatment {
			return a
		}
	}
	return nil
}

// Single returns the trial that is all that a section rests on: the only one,
// or the only valid one. It is shown unfolded.
func (s *section) Single() *trialView {
	if len(s.Arms) != 1 {
		return nil
	}
	a := s.Arms[0]
	if len(a.Trials) == 1 {
		return a.Trials[0]
	}
	if len(a.Valid) != 1 {
		return nil
	}
	for _, t := range a.Trials {
		if t.Counts {
			return t
		}
	}
	return nil
}

// Folded are the trials that are not Single.
func (s *section) Folded() []*trialView {
	var list []*trialView
	for _, a := range s.Arms {
		for _, t := range a.Trials {
			if t != s.Single() {
				list = append(list, t)
			}
		}
	}
	return list
}

// sections groups trials by scenario and variant, in the order of their names.
func (v *view) sections() []*section {
	type key struct{ scenario, variant string }
	byKey := map[key]*section{}
	for i, t := range v.Trials {
		k := key{t.Scenario, t.Variant}
		s := byKey[k]
		if s == nil {
			s = newSection(v.Run, t.Scenario, t.Variant)
			byKey[k] = s
		}
		a := s.arm(t.Implementation)
		if a == nil {
			a = &arm{Treatment: v.treatment(t.Implementation)}
			s.Arms = append(s.Arms, a)
		}
		a.Trials = append(a.Trials, newTrialView(fmt.Sprintf("trial-%d-%s", i+1, slug(t.ID)), t, a.Treatment))
		if valid(t) {
			a.Valid = append(a.Valid, t)
		}
	}
	list := slices.SortedFunc(maps.Values(byKey), func(a, b *section) int { return cmp.Compare(a.Name, b.Name) })
	for i, s := range list {
		s.Anchor = fmt.Sprintf("scenario-%d-%s", i+1, slug(s.Name))
		s.finish()
	}
	return list
}

func newSection(run *result.Run, scenario, variant string) *section {
	described := run.Scenarios[scenario]
	described.Name = scenario
	s := &section{
		Name: scenarioName(scenario, variant), Scenario: described, Variant: variant,
		Title: cmp.Or(described.Title, scenario), Question: described.Question, Method: described.Method,
	}
	if variant != "" {
		s.Title += " (" + variant + ")"
	}
	return s
}

func (s *section) finish() {
	slices.SortFunc(s.Arms, func(a, b *arm) int { return cmp.Compare(a.Treatment.Name, b.Treatment.Name) })
	for _, a := range s.Arms {
		var trials []*result.Trial
		for _, t := range a.Trials {
			trials = append(trials, t.Trial)
		}
		a.Outcomes = outcomes(trials)
	}
	headline := s.headline()
	for _, name := range s.metricNames(headline) {
		row := s.metricRow(name)
		s.All = append(s.All, row)
		if slices.Contains(headline, name) {
			s.Headline = append(s.Headline, row)
		}
	}
	s.Note = s.boundsNote()
	s.Figures = s.figures()
}

// boundsNote says where repeats are too few for bounds.
func (s *section) boundsNote() string {
	need := stat.NeedForBounds(stat.DefaultConfidence)
	var few []string
	for _, a := range s.Arms {
		if n := len(a.Valid); n > 1 && n < need {
			have := strconv.Itoa(n)
			if len(s.Arms) > 1 {
				have = a.Treatment.Title + " " + have
			}
			few = append(few, have)
		}
	}
	if len(few) == 0 {
		return ""
	}
	return fmt.Sprintf("need >= %d trials for bounds, have %s", need, strings.Join(few, ", "))
}

// maxHeadline is how many metrics come first where the scenario names none.
const maxHeadline = 4

func (s *section) headline() []string {
	if len(s.Scenario.Headline) > 0 {
		return s.Scenario.Headline
	}
	names := s.metricNames(nil)
	return names[:min(len(names), maxHeadline)]
}

// metricNames lists the metrics of valid trials, those of first in front.
func (s *section) metricNames(first []string) []string {
	names := map[string]bool{}
	for _, a := range s.Arms {
		for _, t := range a.Valid {
			for name := range t.Metrics {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := slices.Clone(first)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(first, name) {
			list = append(list, name)
		}
	}
	return list
}
