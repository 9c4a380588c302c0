package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/gatemark/gatemark/result"
)

// A findingGroup is what was found about one implementation, worst first.
type findingGroup struct {
	Treatment treatment
	Items     []findingItem
}

// A findingItem is one finding, however many trials it was made in.
type findingItem struct {
	ID       string
	Severity result.Severity
	Scenario string
	// Texts are the distinct sentences, those of the worst severity first.
	// Sentences that differ in their numbers only are one: the first.
	Texts []string
	// Vary says that trials put other numbers into the same sentence.
	Vary bool
	// In counts the trials with the finding, Of the valid ones.
	In, Of int
	// Across says what a finding rests on that takes several trials together.
	Across string
	Places []findingPlace
}

// A findingPlace is a finding in a trial.
type findingPlace struct {
	Trial   *result.Trial
	Anchor  string
	Finding result.Finding
}

// Where says how often the finding was made.
func (f findingItem) Where() string {
	if f.Across != "" {
		return f.Across
	}
	if f.Of == 1 {
		return "in the only trial"
	}
	if f.In == f.Of {
		return fmt.Sprintf("in all %d trials", f.Of)
	}
	return fmt.Sprintf("in %d of %d trials", f.In, f.Of)
}

// maxTexts bounds the sentences shown of one finding; its places have all.
const maxTexts = 3

// Shown are the sentences to show at once.
func (f findingItem) Shown() []string { return f.Texts[:min(len(f.Texts), maxTexts)] }

// More counts the sentences that Shown leaves out.
func (f findingItem) More() int { return max(0, len(f.Texts)-maxTexts) }

func severityRank(s result.Severity) int {
	rank := slices.Index(result.Severities(), s)
	if rank < 0 {
		return len(result.Severities()) // one that we do not know
	}
	return rank
}

// findings merges what trials found, by implementation. Invalid trials are no
// evidence: what they found stands with them only.
func (v *view) findings() []findingGroup {
	var groups []findingGroup
	for _, treatment := range v.Treatments {
		group := findingGroup{Treatment: treatment}
		for _, s := range v.Sections {
			if arm := s.arm(treatment.Name); arm != nil {
				group.Items = append(group.Items, armFindings(s, arm)...)
				group.Items = append(group.Items, s.across(arm)...)
			}
		}
		slices.SortStableFunc(group.Items, func(a, b findingItem) int {
			return cmp.Or(
				cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)),
				cmp.Compare(b.In, a.In),
				cmp.Compare(a.ID, b.ID))
		})
		if len(group.Items) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

func armFindings(s *section, a *arm) []findingItem {
	byID := map[string]*findingItem{}
	var order []string
	of := 0
	for _, t := range a.Trials {
		if t.Outcome == result.Invalid || t.Outcome == result.Skipped {
			continue
		}
		of++
		for _, f := range t.Findings {
			item := byID[f.ID]
			if item == nil {
				item = &findingItem{ID: f.ID, Severity: f.Severity, Scenario: s.Name}
				byID[f.ID] = item
				order = append(order, f.ID)
			}
			if n := len(item.Places); n == 0 || item.Places[n-1].Trial != t.Trial {
				item.In++
			}
			item.Places = append(item.Places, findingPlace{Trial: t.Trial, Anchor: t.Anchor, Finding: f})
		}
	}
	var items []findingItem
	for _, id := range order {
		item := byID[id]
		item.Of = of
		item.summarize()
		items = append(items, *item)
	}
	return items
}

// summarize takes the worst severity and the distinct texts of the places.
func (f *findingItem) summarize() {
	worst := slices.Clone(f.Places)
	slices.SortStableFunc(worst, func(a, b findingPlace) int {
		return cmp.Compare(severityRank(a.Finding.Severity), severityRank(b.Finding.Severity))
	})
	f.Severity = worst[0].Finding.Severity
	for _, place := range worst {
		text := place.Finding.Text
		same := slices.IndexFunc(f.Texts, func(t string) bool { return wording(t) == wording(text) })
		if same < 0 {
			f.Texts = append(f.Texts, text)
		} else if f.Texts[same] != text {
			f.Vary = true
		}
	}
}

var digits = regexp.MustCompile(`[0-9][0-9.,]*`)

// wording is a sentence without its numbers.
func wording(text string) string { return digits.ReplaceAllString(text, "#") }

// severityCounts counts findings of each severity, worst first: "1 broken, 2
// notable"; empty for none.
func severityCounts(items []findingItem) []severityCount {
	var counts []severityCount
	for _, s := range result.Severities() {
		n := 0
		for _, item := range items {
			if item.Severity == s {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, severityCount{s, n})
		}
	}
	return counts
}

type severityCount struct {
	Severity result.Severity
	N        int
}
