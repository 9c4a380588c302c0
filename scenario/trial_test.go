package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

var simplest = &scenario.Scenario{Scenario: result.Scenario{Name: "question"}}

func TestOutcomeOfAnError(t *testing.T) {
	reason := errors.New("reason")
	for _, c := range []struct {
		err  error
		want result.Outcome
	}{
		{nil, result.OK},
		{reason, result.Invalid}, // what nobody thought of is no evidence
		{scenario.Invalid{reason}, result.Invalid},
		{scenario.Failed{reason}, result.Failed},
		{fmt.Errorf("after 3 of 9 routes: %w", scenario.Failed{reason}), result.Failed},
		{scenario.Unsupported{reason}, result.Unsupported},
		{errors.Join(scenario.Failed{reason}, scenario.Invalid{reason}), result.Failed},
		{context.Canceled, result.Invalid},
	} {
		got, text := scenario.Outcome(c.err)
		if got != c.want || (text == "") != (c.err == nil) {
			t.Errorf("%v: %s %q, want %s", c.err, got, text, c.want)
		}
	}
}

func TestValuesComeFromAPlanOrFromJSON(t *testing.T) {
	resolved := scenario.Values{"n": 3, "d": "1m30s", "s": "both", "b": true}
	text, err := json.Marshal(resolved)
	if err != nil {
		t.Fatal(err)
	}
	var decoded scenario.Values
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	for _, v := range []scenario.Values{resolved, decoded} {
		if v.Int("n") != 3 || v.Duration("d") != 90*time.Second || v.String("s") != "both" || !v.Bool("b") {
			t.Errorf("%v reads as %d, %s, %s, %v", v, v.Int("n"), v.Duration("d"), v.String("s"), v.Bool("b"))
		}
	}
}

func TestAGateHoldsUpToItsLimit(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	for value, want := range map[float64]bool{0: true, 1: true, 1.001: false} {
		trial.Result.Gates = nil
		trial.Gate("g", "text", "1", value, 1)
		if got := scenariotest.Gate(t, trial.Result, "g").OK; got != want {
			t.Errorf("value %g, limit 1: ok is %v", value, got)
		}
	}
}
