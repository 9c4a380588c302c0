package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	engine "github.com/gatemark/gatemark/run"
)

func newRun() *result.Run {
	return &result.Run{SchemaVersion: result.SchemaVersion, ID: "r", Implementations: map[string]result.Implementation{}}
}

// TestTheRestGoesOnWithoutWhatCannotBeInstalled: its trials are skipped with
// the reason, and no runner tries them.
func TestTheRestGoesOnWithoutWhatCannotBeInstalled(t *testing.T) {
	good, bad := plan.Treatment{Name: "good"}, plan.Treatment{Name: "bad"}
	again := plan.Treatment{Name: "bad", Copy: 2}
	p := &plan.Plan{Repeats: 2, Implementations: []plan.Treatment{good, bad, again}, Scenarios: []plan.Trial{{Name: "s"}}}
	c := &conductor{plan: p, run: newRun(), dir: result.Directory(t.TempDir()), subjects: []*subject{
		{Treatment: good}, {Treatment: bad, err: failure.Hint(errors.New("pod x: container y: CrashLoopBackOff"), "look at y")}}}
	c.run.Schedule = engine.Schedule(p)
	if err := c.skip(); err != nil {
		t.Fatal(err)
	}
	trials, err := c.dir.ReadTrials()
	if err != nil || len(trials) != 4 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	for _, trial := range trials {
		if trial.Outcome != result.Skipped || !strings.Contains(trial.Reason, "CrashLoopBackOff") || !strings.HasPrefix(trial.Implementation, "bad") {
			t.Errorf("trial %s of %s is %s: %s", trial.ID, trial.Implementation, trial.Outcome, trial.Reason)
		}
	}
	finished, err := engine.Outcomes(c.dir)
	if err != nil || engine.Remaining(c.run.Schedule, finished) != 2 {
		t.Errorf("%d trials remain, %v", engine.Remaining(c.run.Schedule, finished), err)
	}
	if len(c.run.Notes) != 2 {
		t.Errorf("notes %q", c.run.Notes)
	}
	left := c.missing()
	if failure.CodeOf(left) != failure.CouldNotRun || !strings.Contains(left.Error(), "1 of 2 implementations could not be installed, and were not measured: bad") || len(failure.Hints(left)) != 1 {
		t.Errorf("error %v, hints %q", left, failure.Hints(left))
	}
	if err := errAll(c.subjects); err != nil {
		t.Errorf("there is one to measure: %v", err)
	}
	c.subjects[0].err = errors.New("no")
	if err := errAll(c.subjects); err == nil || !strings.Contains(err.Error(), "implementation good: no\nimplementation bad: pod x") {
		t.Errorf("error %v", err)
	}
}
