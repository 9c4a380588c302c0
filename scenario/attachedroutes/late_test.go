package attachedroutes

import (
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// The last creation is answered after 3.1 s, the last deletion after 23.1 s.
func TestCountsThatComeLate(t *testing.T) {
	for name, c := range map[string]struct {
		versions map[time.Duration][]int
		want     []string
		text     string
	}{
		"in time": {map[time.Duration][]int{0: {0, 0}, 5 * time.Second: {4, 4}, 25 * time.Second: {0, 0}}, nil, ""},
		"late up": {map[time.Duration][]int{0: {0, 0}, 6 * time.Second: {4, 4}, 25 * time.Second: {0, 0}},
			[]string{"count-late notable"}, "attachedRoutes was right on every listener only 2.9s after the last of 4 routes was created"},
		"late on one listener, and down": {map[time.Duration][]int{0: {0, 0}, 4 * time.Second: {4, 0}, 6 * time.Second: {4, 4}, 28 * time.Second: {0, 0}},
			[]string{"count-late notable"}, "only 2.9s after the last of 4 routes was created, and 4.9s after the last of 4 routes was deleted"},
		"never": {map[time.Duration][]int{0: {0, 0}, 4 * time.Second: {4, 3}, 25 * time.Second: {0, 0}},
			[]string{"wrong-count-after-setup broken"}, "1 of 2 listeners did not count them right (listener l1: the count was 3 at the end, want 4)"},
	} {
		t.Run(name, func(t *testing.T) {
			a := attached(c.versions)
			scenariotest.CheckFindings(t, a.Result, c.want...)
			if len(c.want) > 0 && !strings.Contains(a.Result.Findings[0].Text, c.text) {
				t.Errorf("it says %q, want %q in it", a.Result.Findings[0].Text, c.text)
			}
		})
	}
}

func TestAttachedRoutesThatAreNeverAccepted(t *testing.T) {
	a := counting()
	a.again(func() {
		delete(a.status.Current, attachedName(2))
		a.status.Lacks = map[string]string{attachedName(2): "Accepted is of generation 1, not 2", attachedName(1): "what it lacked once"}
	})
	scenariotest.CheckFindings(t, a.Result, "not-accepted costly")
	if f := scenariotest.Finding(t, a.Result, "not-accepted"); !strings.Contains(f.Text, "the status of 1 of 4 valid routes") || !strings.Contains(f.Text, "(1× Accepted is of generation 1, not 2)") {
		t.Errorf("it says %q", f.Text)
	}
}

// A route that is accepted when others are gone was refused while they were there.
func TestARouteThatIsAcceptedInTheEnd(t *testing.T) {
	a := counting()
	a.again(func() { a.status.Current[attachedName(3)] = a.Zero().Add(22 * time.Second) })
	scenariotest.CheckFindings(t, a.Result, "not-accepted costly")
	if m := a.Result.Metrics["accepted"]; m.Censored != 1 {
		t.Errorf("accepted: %+v", m)
	}
}

func TestWritesThatNeedNotHaveBeen(t *testing.T) {
	report := func(gateways, routes, idle int) audit.Report {
		return audit.Report{Writers: []audit.Writer{
			{Name: "nobody"},
			{Name: "controller", Total: audit.Counts{Writes: gateways + routes, NoOps: idle}, Kinds: map[string]audit.Counts{
				"gateways": {Writes: gateways, NoOps: idle}, "httproutes": {Writes: routes}}},
		}}
	}
	inferred := report(10, 30, 20)
	inferred.Inferred = true
	for name, c := range map[string]struct {
		report audit.Report
		routes int
		want   []string
		text   string
	}{
		"batches":               {report(99, 1000, 0), 1000, nil, ""},
		"few changes":           {report(99, 50, 0), 50, nil, ""},
		"a write for each":      {report(400, 200, 0), 200, []string{"many-writes costly"}, "written 400 times while 200 routes came and went, 1.0 times for each change"},
		"one for every second":  {report(100, 100, 0), 100, []string{"many-writes costly"}, "0.5 times for each change"},
		"fewer than that":       {report(100, 101, 0), 101, nil, ""},
		"some change nothing":   {report(10, 35, 9), 30, nil, ""},
		"a fifth is idle":       {report(10, 30, 10), 30, []string{"idle-writes notable"}, "10 of 50 status writes changed nothing"},
		"less than that":        {report(10, 31, 10), 30, nil, ""},
		"what cannot be judged": {inferred, 30, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &scenario.StatusWrites{Trial: &scenario.Trial{Result: &result.Trial{Scenario: "attached-routes"}}}
			w.Find(c.report, func(audit.Writer) bool { return true }, c.routes)
			scenariotest.CheckFindings(t, w.Trial.Result, c.want...)
			if len(c.want) == 0 {
				return
			}
			f := w.Trial.Result.Findings[0]
			if !strings.Contains(f.Text, c.text) || !strings.HasPrefix(f.Evidence[0].Text, "controller: ") {
				t.Errorf("finding %+v, want %q", f, c.text)
			}
		})
	}
}
