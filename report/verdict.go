package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/report/quantity"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A verdict is what a run says about one implementation, in words.
type verdict struct {
	Treatment treatment
	// Done says what ran: "2 scenarios, 4 trials ok, 1 invalid".
	Done string
	// Found counts the findings, worst first.
	Found []severityCount
	// Unmeasured are the scenarios of which no trial is valid: no findings
	// there mean nothing.
	Unmeasured []string
}

// FoundText says what was found: "1 broken and 2 notable findings".
func (d verdict) FoundText() string {
	if len(d.Found) == 0 {
		return "no findings" + d.unmeasuredText()
	}
	var parts []string
	total := 0
	for _, c := range d.Found {
		parts = append(parts, fmt.Sprintf("%d %s", c.N, c.Severity))
		total = c.N
	}
	text := joinWords(parts)
	if len(d.Found) == 1 && total == 1 {
		return text + " finding" + d.unmeasuredText()
	}
	return text + " findings" + d.unmeasuredText()
}

func (d verdict) unmeasuredText() string {
	if len(d.Unmeasured) == 0 {
		return ""
	}
	return "; no valid trial of " + joinWords(d.Unmeasured)
}

// String is the verdict as one sentence.
func (d verdict) String() string {
	return d.Treatment.Title + ": " + d.Done + "; " + d.FoundText()
}

func (v *view) title() string {
	var names []string
	for _, t := range v.Treatments {
		names = append(names, t.Title)
	}
	switch {
	case len(names) == 0:
		return "An empty run"
	case len(names) > 3:
		return fmt.Sprintf("%d implementations", len(names))
	}
	return joinWords(names)
}

func (v *view) verdicts() []verdict {
	var list []verdict
	for _, t := range v.Treatments {
		d := verdict{Treatment: t}
		scenarios := map[string]bool{}
		var trials []*result.Trial
		for _, trial := range v.Trials {
			if trial.Implementation == t.Name {
				trials = append(trials, trial)
				scenarios[trial.Scenario] = true
			}
		}
		if len(trials) == 0 {
			d.Done = "no trial has ended"
		} else {
			d.Done = quantity.Plural(len(scenarios), "scenario", "scenarios") + ", " + trialOutcomes(trials)
		}
		d.Unmeasured = v.unmeasured(t)
		for _, g := range v.Findings {
			if g.Treatment.Name == t.Name {
				d.Found = severityCounts(g.Items)
			}
		}
		list = append(list, d)
	}
	return list
}

// unmeasured names the scenarios of which an implementation has trials and none
// that is valid. One that it does not support was answered.
func (v *view) unmeasured(t treatment) []string {
	var names []string
	for _, s := range v.Sections {
		a := s.arm(t.Name)
		if a == nil || len(a.Valid) > 0 {
			continue
		}
		answered := slices.ContainsFunc(a.Trials, func(t *trialView) bool { return t.Outcome == result.Unsupported })
		if !answered {
			names = append(names, s.Name)
		}
	}
	return names
}

// trialOutcomes writes "4 trials ok", or "5 trials: 4 ok, 1 invalid".
func trialOutcomes(trials []*result.Trial) string {
	for _, t := range trials {
		if t.Outcome != trials[0].Outcome {
			return quantity.Plural(len(trials), "trial", "trials") + ": " + outcomes(trials)
		}
	}
	return quantity.Plural(len(trials), "trial ", "trials ") + string(trials[0].Outcome)
}

// certainty says what the numbers can and cannot carry.
func (v *view) certainty() []string {
	var list []string
	repeats, least := 0, -1
	for _, s := range v.Sections {
		for _, a := range s.Arms {
			n := len(a.Valid)
			repeats = max(repeats, n)
			if n > 0 && (least < 0 || n < least) {
				least = n
			}
		}
	}
	need := stat.NeedForBounds(stat.DefaultConfidence)
	switch {
	case repeats == 0:
		list = append(list, "No trial is valid: there are no numbers.")
	case repeats == 1:
		list = append(list, fmt.Sprintf("Each number comes from one trial. Its bounds say how well the median inside that trial is known, not how far a repeat would lie from it: that takes at least %d trials.", need))
	case least < need:
		list = append(list, fmt.Sprintf("Repeated trials are summarised by the median of their medians, with each one beside it. Bounds between trials take at least %d of them; here the least is %d.", need, least))
	default:
		list = append(list, fmt.Sprintf("Repeated trials are summarised by the median of their medians, bounded at %s %% confidence or more over at least %d trials.", percentText(stat.DefaultConfidence), least))
	}
	for _, d := range v.Verdicts {
		if len(d.Unmeasured) > 0 {
			list = append(list, fmt.Sprintf("Nothing is known about %s on %s: no trial of it is valid.", joinWords(d.Unmeasured), d.Treatment.Title))
		}
	}
	if len(v.Treatments) > 1 && repeats > 0 {
		list = append(list, v.tested(least))
	}
	list = append(list, v.noiseFloor()...)
	if n := v.count(result.Invalid); n > 0 {
		list = append(list, quantity.Plural(n, "trial was mismeasured and enters", "trials were mismeasured and enter")+" no number.")
	}
	if v.Missing > 0 {
		list = append(list, fmt.Sprintf("%d of %s left no result.", v.Missing, quantity.Plural(len(v.Run.Schedule), "planned trial", "planned trials")))
	}
	if v.Run.Ended == nil {
		list = append(list, "The run has not ended, or was killed.")
	}
	return append(list, v.Run.Notes...)
}

// tested says whether differences between implementations are more than seen.
func (v *view) tested(least int) string {
	need := stat.NeedForBounds(stat.DefaultConfidence)
	if least < need {
		return fmt.Sprintf("Implementations stand side by side; that they differ is shown here, not tested. That takes at least %d trials of each.", need)
	}
	return "Differences between implementations are tested, each scenario's headline metrics, its costs and its other metrics as a family each: p below 0.05 after Holm's correction counts as shown. ~ says that no difference is shown, which is not that there is none."
}

func percentText(share float64) string {
	return strings.TrimSuffix(quantity.Setting(share, "ratio"), " %")
}

func (v *view) count(o result.Outcome) int {
	n := 0
	for _, t := range v.Trials {
		if t.Outcome == o {
			n++
		}
	}
	return n
}

// lookedFor names what a run without findings did check.
func (v *view) lookedFor() []string {
	var list []string
	for _, s := range v.Sections {
		n := 0
		for _, a := range s.Arms {
			n += len(a.Valid)
		}
		if n == 0 {
			continue
		}
		line := s.Name
		if s.Question != "" {
			line += ": " + s.Question
		}
		list = append(list, fmt.Sprintf("%s (%s)", line, quantity.Plural(n, "valid trial", "valid trials")))
	}
	return list
}

// notOK lists the trials that are not ok, with the gates that failed.
func (v *view) notOK() grid {
	g := grid{
		Title:   "Trials that are not ok",
		Note:    "Invalid trials were mismeasured by gatemark. They are no evidence and enter no number.",
		Columns: text("Outcome", "Trial", "Why"),
	}
	for _, t := range v.Trials {
		if t.Outcome == result.OK {
			continue
		}
		why := t.Reason
		for _, gate := range t.Gates {
			if !gate.OK {
				if strings.Contains(t.Reason, gate.Name) {
					continue // said already
				}
				why += fmt.Sprintf("\ngate %s: %s, limit %s", gate.Name,
					quantity.Write(gate.Value, gate.Unit), quantity.Setting(gate.Limit, gate.Unit))
			}
		}
		g.Rows = append(g.Rows, []string{
			string(t.Outcome), scenarioName(t.Scenario, t.Variant) + ", " + standing(t) + "\n" + v.treatment(t.Implementation).Title,
			strings.TrimPrefix(why, "\n"),
		})
	}
	return g
}

// joinWords writes "a", "a and b", "a, b and c".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
