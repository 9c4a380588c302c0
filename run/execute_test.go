package run

import (
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	"github.com/google/go-cmp/cmp"
)

var ref = result.TrialRef{ID: "b01-s-i", Implementation: "i", Scenario: "s", Block: 1}

func TestPending(t *testing.T) {
	invalid, ok := result.Invalid, result.OK
	for name, c := range map[string]struct {
		finished map[string]result.Outcome
		want     int // attempt, 0 for none
	}{
		"never tried":                     {nil, 1},
		"measured":                        {map[string]result.Outcome{"b01-s-i": ok}, 0},
		"failed is an answer":             {map[string]result.Outcome{"b01-s-i": result.Failed}, 0},
		"invalid once":                    {map[string]result.Outcome{"b01-s-i": invalid}, 2},
		"invalid, then measured":          {map[string]result.Outcome{"b01-s-i": invalid, "b01-s-i-attempt2": ok}, 0},
		"invalid twice":                   {map[string]result.Outcome{"b01-s-i": invalid, "b01-s-i-attempt2": invalid}, 3},
		"invalid as often as it is tried": {map[string]result.Outcome{"b01-s-i": invalid, "b01-s-i-attempt2": invalid, "b01-s-i-attempt3": invalid}, 0},
	} {
		a, ok := Pending(ref, c.finished)
		if ok != (c.want > 0) || a.Number != c.want {
			t.Errorf("%s: attempt %d (%v), want %d", name, a.Number, ok, c.want)
		}
	}
}

// TestTakeOver: a runner that is started on the directory of a killed one
// records the trial that was in hand, and repeats nothing that is finished.
func TestTakeOver(t *testing.T) {
	dir := result.Directory(t.TempDir())
	done := Lost("r", Attempt{Ref: result.TrialRef{ID: "b01-a-i"}, Number: 1}, "")
	done.Outcome = result.OK
	if err := dir.WriteTrial(done, nil); err != nil {
		t.Fatal(err)
	}
	if err := markInHand(dir, Attempt{Ref: ref, Number: 1, Began: time.Now().Add(-time.Minute)}); err != nil {
		t.Fatal(err)
	}
	e := &Executor{Dir: dir, Config: &Config{RunID: "r", Finished: map[string]result.Outcome{"b01-b-i": result.OK}}}
	for range 2 { // once more changes nothing
		finished, err := e.takeOver()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]result.Outcome{"b01-a-i": result.OK, "b01-b-i": result.OK, "b01-s-i": result.Invalid}
		if diff := cmp.Diff(want, finished); diff != "" {
			t.Errorf("finished (-want +got):\n%s", diff)
		}
	}
	lost, err := dir.ReadTrial("b01-s-i")
	if err != nil {
		t.Fatal(err)
	}
	if lost.Outcome != result.Invalid || lost.Reason != "the runner was lost during the trial" || lost.Duration < 59 {
		t.Errorf("the lost trial: %s, %q, %.0f s", lost.Outcome, lost.Reason, lost.Duration)
	}
}

func TestGatesMakeATrialInvalid(t *testing.T) {
	trial := &result.Trial{Outcome: result.OK, Gates: []result.Gate{
		{Name: "fine", OK: true}, {Name: "late", Text: "too late", Value: 0.02, Limit: 0.01, Unit: "ratio"}}}
	gates(trial)
	if trial.Outcome != result.Invalid || !strings.Contains(trial.Reason, "gate late: too late: 0.02 ratio, limit 0.01") {
		t.Errorf("%s: %s", trial.Outcome, trial.Reason)
	}
	trial = &result.Trial{Outcome: result.OK, Gates: []result.Gate{{Name: "fine", OK: true}}}
	if gates(trial); trial.Outcome != result.OK {
		t.Errorf("%s: %s", trial.Outcome, trial.Reason)
	}
}

func TestAPanicIsAnInvalidTrial(t *testing.T) {
	err := guard(func() error { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "a defect of gatemark: boom") || !strings.Contains(err.Error(), "execute_test.go") {
		t.Errorf("got %v", err)
	}
	if err := guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestEveryProfileCanRun: the built-in plans name what there is.
func TestEveryProfileCanRun(t *testing.T) {
	catalogue := plan.Catalogue{Scenarios: Scenarios(), Implementations: []plan.Implementation{{Name: "envoy-gateway"}}}
	for _, name := range plan.Profiles() {
		p, err := plan.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := p.Resolve(catalogue)
		if err != nil {
			t.Errorf("profile %s: %v", name, err)
			continue
		}
		if n := len(Schedule(resolved)); n != resolved.Repeats*len(resolved.Scenarios) {
			t.Errorf("profile %s: %d trials", name, n)
		}
	}
}
