package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gatemark/gatemark/result"
)

// MaxAttempts is how often a trial is tried before it stays invalid.
const MaxAttempts = 3

// An Attempt is one try at a trial.
type Attempt struct {
	Ref    result.TrialRef `json:"ref"`
	Number int             `json:"number"`
	Began  time.Time       `json:"began"`
}

// ID names the attempt.
func (a Attempt) ID() string { return AttemptID(a.Ref.ID, a.Number) }

// FindAttempt returns the attempt of that name at a trial of the schedule.
func FindAttempt(schedule []result.TrialRef, id string) (Attempt, bool) {
	for _, ref := range schedule {
		for n := 1; n <= MaxAttempts; n++ {
			if AttemptID(ref.ID, n) == id {
				return Attempt{Ref: ref, Number: n}, true
			}
		}
	}
	return Attempt{}, false
}

// Pending returns the next attempt at a trial, and whether there is one: none
// where an attempt was conclusive or MaxAttempts were made. finished holds the
// outcome of every attempt so far.
func Pending(ref result.TrialRef, finished map[string]result.Outcome) (Attempt, bool) {
	for n := 1; n <= MaxAttempts; n++ {
		outcome, tried := finished[AttemptID(ref.ID, n)]
		if !tried {
			return Attempt{Ref: ref, Number: n}, true
		}
		if outcome != result.Invalid {
			return Attempt{}, false
		}
	}
	return Attempt{}, false
}

// Remaining counts the trials that need an attempt.
func Remaining(schedule []result.TrialRef, finished map[string]result.Outcome) int {
	n := 0
	for _, ref := range schedule {
		if _, ok := Pending(ref, finished); ok {
			n++
		}
	}
	return n
}

// Outcomes reads the outcome of every attempt in a run directory.
func Outcomes(dir result.Directory) (map[string]result.Outcome, error) {
	trials, err := dir.ReadTrials()
	if err != nil {
		return nil, err
	}
	finished := map[string]result.Outcome{}
	for _, t := range trials {
		finished[t.ID] = t.Outcome
	}
	return finished, nil
}

// Lost is the result of an attempt that its runner did not survive.
func Lost(runID string, a Attempt, reason string) *result.Trial {
	return &result.Trial{
		SchemaVersion: result.SchemaVersion, RunID: runID, ID: a.ID(),
		Implementation: a.Ref.Implementation, Scenario: a.Ref.Scenario, Variant: a.Ref.Variant, Block: a.Ref.Block,
		Attempt: a.Number, Started: a.Began, Duration: time.Since(a.Began).Seconds(),
		Outcome: result.Invalid, Reason: reason,
	}
}

// inHand is the file that names the attempt in hand, so that a runner that was
// killed knows what it was at.
const inHand = "in-hand.json"

func markInHand(dir result.Directory, a Attempt) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return err
	}
	place := filepath.Join(string(dir), inHand)
	// In one step: a runner may be killed at any instant.
	if err := os.WriteFile(place+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(place+".new", place)
}

func clearInHand(dir result.Directory) error {
	err := os.Remove(filepath.Join(string(dir), inHand))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// interrupted returns the attempt that an earlier runner left unfinished. Of a
// marker that cannot be read, only ok is known: something was in hand.
func interrupted(dir result.Directory) (a Attempt, ok bool, err error) {
	data, err := os.ReadFile(filepath.Join(string(dir), inHand))
	if os.IsNotExist(err) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	if json.Unmarshal(data, &a) != nil {
		return Attempt{}, true, nil
	}
	return a, true, nil
}
