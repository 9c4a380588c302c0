package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/result"
)

func trialWith(block int, outcome result.Outcome, findings ...result.Finding) *result.Trial {
	return &result.Trial{
		ID: fmt.Sprintf("t%d-%s", block, outcome), Implementation: "x", Scenario: "s", Block: block, Attempt: 1,
		Outcome: outcome, Findings: findings,
	}
}

func TestFindingsAreMergedAcrossTrials(t *testing.T) {
	run := &result.Run{}
	lag := func(severity result.Severity, text string) result.Finding {
		return result.Finding{ID: "s/lag", Severity: severity, Text: text}
	}
	v := newView(run, []*result.Trial{
		trialWith(1, result.OK, lag(result.Notable, "lagged by 3 s")),
		trialWith(2, result.OK, lag(result.Broken, "lagged by 9 s"), lag(result.Notable, "lagged by 1 s")),
		trialWith(3, result.OK),
		trialWith(4, result.Invalid, lag(result.Broken, "invalid trials are no evidence")),
		trialWith(5, result.Failed, lag(result.Notable, "never came back"), result.Finding{ID: "s/other", Severity: result.Costly, Text: "costs"}),
		trialWith(6, result.Skipped),
	})
	if len(v.Findings) != 1 || len(v.Findings[0].Items) != 2 {
		t.Fatalf("got %+v", v.Findings)
	}
	first := v.Findings[0].Items[0]
	if first.ID != "s/lag" || first.Severity != result.Broken {
		t.Errorf("the worst comes first: %s, %s", first.ID, first.Severity)
	}
	if got := first.Where(); got != "in 3 of 4 trials" {
		t.Errorf("made %s", got)
	}
	// Sentences that differ in numbers are one; the worst one speaks.
	if diff := cmp.Diff([]string{"lagged by 9 s", "never came back"}, first.Texts); diff != "" {
		t.Error(diff)
	}
	if !first.Vary || len(first.Places) != 4 {
		t.Errorf("vary %v, %d places", first.Vary, len(first.Places))
	}
	if got := v.Findings[0].Items[1].Where(); got != "in 1 of 4 trials" {
		t.Errorf("made %s", got)
	}
}

func TestVerdictInWords(t *testing.T) {
	run := &result.Run{Implementations: map[string]result.Implementation{"x": {Title: "Envoy Gateway", Version: "v1.9.1"}}}
	finding := func(id string, s result.Severity) result.Finding {
		return result.Finding{ID: id, Severity: s, Text: id}
	}
	cases := []struct {
		want   string
		trials []*result.Trial
	}{
		{"Envoy Gateway v1.9.1: no trial has ended; no findings", nil},
		{"Envoy Gateway v1.9.1: 1 scenario, 1 trial invalid; no findings; no valid trial of s", []*result.Trial{trialWith(1, result.Invalid)}},
		{"Envoy Gateway v1.9.1: 1 scenario, 1 trial unsupported; no findings", []*result.Trial{trialWith(1, result.Unsupported)}},
		{"Envoy Gateway v1.9.1: 1 scenario, 1 trial ok; no findings", []*result.Trial{trialWith(1, result.OK)}},
		{"Envoy Gateway v1.9.1: 1 scenario, 2 trials: 1 ok, 1 invalid; 1 broken finding",
			[]*result.Trial{trialWith(1, result.OK, finding("a", result.Broken)), trialWith(2, result.Invalid, finding("b", result.Broken))}},
		{"Envoy Gateway v1.9.1: 1 scenario, 2 trials ok; 1 broken and 2 notable findings",
			[]*result.Trial{trialWith(1, result.OK, finding("a", result.Broken), finding("c", result.Notable)), trialWith(2, result.OK, finding("b", result.Notable))}},
	}
	for _, c := range cases {
		v := newView(run, c.trials)
		if got := v.Verdicts[0].String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestMissingTrialsAreCounted(t *testing.T) {
	run := &result.Run{Schedule: []result.TrialRef{
		{ID: "a", Implementation: "x", Scenario: "s", Block: 1},
		{ID: "b", Implementation: "x", Scenario: "s", Block: 2},
		{ID: "c", Implementation: "x", Scenario: "s", Variant: "v", Block: 1},
	}}
	repeated := trialWith(1, result.Invalid)
	repeated.ID = "another id"
	if v := newView(run, []*result.Trial{repeated}); v.Missing != 2 {
		t.Errorf("%d missing, want 2", v.Missing)
	}
}
