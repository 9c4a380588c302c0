package detection

import (
	"strings"
	"testing"

	"github.com/gatemark/gatemark/result"
)

func TestJudge(t *testing.T) {
	row := Row{Scenario: "s", Finds: "slow", Says: "a route takes", Brings: []string{"early"}}
	slow := result.Finding{ID: "s/slow", Text: "a route takes 3 s"}
	info := result.Finding{ID: "s/first-route", Severity: result.Info, Text: "for your information"}
	early, other := result.Finding{ID: "s/early", Text: "status early"}, result.Finding{ID: "pods/crash", Text: "a pod ended"}
	for name, c := range map[string]struct {
		row      Row
		outcome  result.Outcome
		findings []result.Finding
		want     Verdict
		says     string
	}{
		"found":                     {row, result.OK, []result.Finding{slow}, Found, "a route takes 3 s"},
		"with what it brings along": {row, result.OK, []result.Finding{early, slow}, Found, "a route takes 3 s"},
		"with something else":       {row, result.OK, []result.Finding{slow, other}, False, "pods/crash: a pod ended"},
		"not found":                 {row, result.OK, nil, Missed, "there are []"},
		"only what it brings along": {row, result.OK, []result.Finding{early}, Missed, "early: status early"},
		"in other words":            {row, result.OK, []result.Finding{{ID: "s/slow", Text: "slow"}}, Missed, "slow: slow"},
		"of another scenario":       {row, result.OK, []result.Finding{{ID: "r/slow", Text: slow.Text}}, Missed, "r/slow"},
		"the trial failed":          {row, result.Failed, []result.Finding{{ID: "s/not-measurable", Text: "why"}}, Missed, "not-measurable: why"},
		"no evidence":               {row, result.Invalid, []result.Finding{slow}, Unclear, "reason"},
		"with information":          {row, result.OK, []result.Finding{info, slow}, Found, "a route takes 3 s"},
		"clean, with information":   {Row{Scenario: "s"}, result.OK, []result.Finding{info}, False, "for your information"},
		"clean":                     {Row{Scenario: "s"}, result.OK, nil, Found, ""},
		"not clean":                 {Row{Scenario: "s"}, result.OK, []result.Finding{early}, False, "status early"},
	} {
		got, says := c.row.Judge(&result.Trial{Outcome: c.outcome, Reason: "reason", Findings: c.findings})
		if got != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, got, says, c.want, c.says)
		}
	}
}
