package report

import (
	"encoding/json"
	"io"
	"math"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/stat"
)

// A document is report.json: everything that was recorded, and what trials say
// together, worked out from it.
type document struct {
	result.Document
	Comparisons []jsonComparison `json:"comparisons,omitempty"`
	Findings    []jsonFinding    `json:"findings,omitempty"`
}

// A jsonComparison is one metric of one implementation, held against the
// reference.
type jsonComparison struct {
	Scenario  string `json:"scenario"`
	Variant   string `json:"variant,omitempty"`
	Metric    string `json:"metric"`
	Unit      string `json:"unit"`
	Reference string `json:"reference"`
	// Implementation is what is compared; Control says that it is the
	// reference once more.
	Implementation string `json:"implementation"`
	Control        bool   `json:"control,omitempty"`
	// N counts the trials of the reference and of the implementation.
	N     [2]int        `json:"n"`
	Shift *jsonInterval `json:"shift,omitempty"`
	Ratio *jsonInterval `json:"ratio,omitempty"`
	// P is of the test alone, AdjustedP after Holm over Family tests.
	P         *float64 `json:"p,omitempty"`
	AdjustedP *float64 `json:"adjustedP,omitempty"`
	Family    int      `json:"family"`
	// Verdict is shown, ~ or too few; Judgement says it for people.
	Verdict   string   `json:"verdict"`
	Judgement string   `json:"judgement"`
	Warnings  []string `json:"warnings,omitempty"`
}

// A jsonInterval leaves out what is not known or has no bound.
type jsonInterval struct {
	Center     *float64 `json:"center,omitempty"`
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// A jsonFinding is a finding that takes several trials.
type jsonFinding struct {
	Implementation string `json:"implementation"`
	Scenario       string `json:"scenario"`
	Over           string `json:"over"`
	result.Finding
}

// writeJSON writes everything that was recorded, as result.Document, and what
// the other formats work out from several trials.
func writeJSON(w io.Writer, v *view) error {
	trials := v.Trials
	if trials == nil {
		trials = []*result.Trial{} // scripts iterate over it
	}
	doc := document{Document: result.Document{SchemaVersion: result.SchemaVersion, Run: v.Run, Trials: trials}}
	for _, s := range v.Sections {
		if s.Comparison != nil {
			for _, f := range []family{s.Comparison.Headline, s.Comparison.Costs, s.Comparison.Rest} {
				doc.Comparisons = append(doc.Comparisons, s.jsonComparisons(f)...)
			}
		}
	}
	for _, g := range v.Findings {
		for _, f := range g.Items {
			if f.Across != "" {
				doc.Findings = append(doc.Findings, jsonFinding{g.Treatment.Name, f.Scenario, f.Across, f.Places[0].Finding})
			}
		}
	}
	return json.NewEncoder(w).Encode(doc)
}

func (s *section) jsonComparisons(f family) []jsonComparison {
	var list []jsonComparison
	for _, m := range f.Metrics {
		for _, other := range m.Others {
			c := jsonComparison{
				Scenario: s.Scenario.Name, Variant: s.Variant, Metric: m.Name, Unit: m.Unit,
				Reference: m.Reference.Treatment.Name, Implementation: other.Treatment.Name, Control: other.Control,
				N: [2]int{other.Raw.A, other.Raw.B}, Shift: jsonOf(other.Raw.Shift), Ratio: jsonOf(other.Raw.Ratio),
				P: finite(other.Raw.P), AdjustedP: finite(other.Adjusted.P), Family: f.Tests,
				Verdict: other.Adjusted.Verdict.String(), Judgement: other.Judgement(m.Better),
				Warnings: stat.Sentences(other.Adjusted.Warnings),
			}
			list = append(list, c)
		}
	}
	return list
}

func jsonOf(i stat.Interval) *jsonInterval {
	j := jsonInterval{finite(i.Center), finite(i.Lo), finite(i.Hi), finite(i.Confidence)}
	if j == (jsonInterval{}) {
		return nil
	}
	return &j
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
