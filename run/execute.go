package run

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/incident"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/run/transfer"
	"github.com/gatemark/gatemark/scenario"
)

// An Executor runs a schedule's trials, one after another, and writes each
// into its directory as it ends. It can be killed at any instant and started
// again on the same directory.
type Executor struct {
	Config *Config
	Dir    result.Directory
	Kube   *kube.Client
	// Node is the node that the runner runs on.
	Node string
	// Token is what the run's samplers answer to.
	Token string

	// calm is when the node has come to rest: atRest where nil.
	calm *park.Calm
	// canary is how a Gateway is asked after a trial.
	canary canary
	// find finds a scenario by its name: scenario.Find where nil.
	find func(name string) *scenario.Scenario
	// baselines are where the watch on each installation's pods goes on.
	baselines map[string]*incident.Baseline

	mu     sync.Mutex
	status transfer.Status
}

// Status is where the executor stands.
func (e *Executor) Status() transfer.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *Executor) update(change func(*transfer.Status)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.status)
}

// Run executes every trial that has no conclusive attempt yet.
func (e *Executor) Run(ctx context.Context) error {
	err := e.run(ctx)
	e.update(func(s *transfer.Status) {
		s.Current, s.Progress = "", ""
		if err != nil {
			s.Error = err.Error()
		} else {
			s.Done = true
		}
	})
	return err
}

func (e *Executor) run(ctx context.Context) error {
	finished, err := e.takeOver()
	if err != nil {
		return err
	}
	total := len(e.Config.Schedule)
	for _, ref := range e.Config.Schedule {
		for {
			e.update(func(s *transfer.Status) {
				s.RunID, s.Planned, s.Finished = e.Config.RunID, total, total-Remaining(e.Config.Schedule, finished)
			})
			attempt, ok := Pending(ref, finished)
			if !ok {
				break
			}
			trial, err := e.attempt(ctx, attempt)
			if err != nil {
				return fmt.Errorf("trial %s: %w", attempt.ID(), err)
			}
			finished[trial.ID] = trial.Outcome
		}
	}
	e.update(func(s *transfer.Status) { s.Finished = total })
	return nil
}

// takeOver learns what was done before: by an earlier life of this runner, or
// by a lost one whose trials the user's machine has.
func (e *Executor) takeOver() (map[string]result.Outcome, error) {
	finished, err := Outcomes(e.Dir)
	if err != nil {
		return nil, err
	}
	maps.Copy(finished, e.Config.Finished)
	left, ok, err := interrupted(e.Dir)
	if err != nil {
		return nil, err
	}
	if ok && left.Ref.ID == "" {
		left, ok = e.next(finished)
	}
	if _, written := finished[left.ID()]; ok && !written {
		trial := Lost(e.Config.RunID, left, "the runner was lost during the trial")
		if err := e.Dir.WriteTrial(trial, nil); err != nil {
			return nil, err
		}
		finished[trial.ID] = trial.Outcome
	}
	return finished, clearInHand(e.Dir)
}

// next is the first attempt that is pending. Trials go in order: it is the one
// that was in hand where a marker is not readable.
func (e *Executor) next(finished map[string]result.Outcome) (Attempt, bool) {
	for _, ref := range e.Config.Schedule {
		if a, ok := Pending(ref, finished); ok {
			a.Began = time.Now()
			return a, true
		}
	}
	return Attempt{}, false
}

// attempt runs one trial and writes its result. It returns an error only where
// going on makes no sense: the disk, or the end of ctx.
func (e *Executor) attempt(ctx context.Context, a Attempt) (*result.Trial, error) {
	a.Began = time.Now()
	if err := markInHand(e.Dir, a); err != nil {
		return nil, err
	}
	e.update(func(s *transfer.Status) { s.Current, s.Progress, s.Since = a.ID(), "", a.Began })
	trial, attachments := e.perform(ctx, a)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.Dir.WriteTrial(trial, attachments); err != nil {
		return nil, err
	}
	return trial, clearInHand(e.Dir)
}

// perform runs one trial from an empty namespace to an empty namespace.
func (e *Executor) perform(ctx context.Context, a Attempt) (*result.Trial, map[string][]byte) {
	trial := Lost(e.Config.RunID, a, "")
	attachments := map[string][]byte{}
	values, err := e.Config.parameters(a.Ref)
	if err == nil {
		trial.Parameters, err = json.Marshal(values)
	}
	var t *scenario.Trial
	if err == nil {
		_, installed := e.Config.Installed[installation(a.Ref.Implementation)]
		t = &scenario.Trial{
			Installed: installed,
			Kube:      e.Kube, RunID: e.Config.RunID, Target: e.Config.Targets[a.Ref.Implementation],
			Isolation: e.Config.Plan.Isolation, Others: e.Config.others(a.Ref.Implementation),
			Namespace: namespace(e.Config.RunID, a), Values: values,
			Node: e.Node, EchoImage: e.Config.EchoImage, AuditLog: e.Config.AuditLog,
			Result: trial, Attachments: attachments,
			Progress: func(format string, args ...any) {
				e.update(func(s *transfer.Status) { s.Progress = fmt.Sprintf(format, args...) })
			},
		}
		t.Attack = e.attackers(t)
		err = e.isolated(ctx, t, a)
	}
	trial.Outcome, trial.Reason = scenario.Outcome(err)
	if trial.Outcome == result.OK {
		gates(trial)
	}
	if err := writable(trial, attachments); err != nil {
		parameters := trial.Parameters
		trial, attachments = Lost(e.Config.RunID, a, fmt.Sprintf("a defect of gatemark: %v", err)), nil
		trial.Parameters = parameters
	}
	trial.Duration = time.Since(a.Began).Seconds()
	return trial, attachments
}

// writable finds what a scenario can do so that its trial cannot be written:
// numbers that JSON lacks, columns of different lengths. The trials that are
// to come must not suffer from it.
func writable(trial *result.Trial, attachments map[string][]byte) error {
	for _, s := range trial.Series {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	for name := range attachments {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("attachment %q leaves its directory", name)
		}
	}
	_, err := json.Marshal(trial)
	return err
}

// gates makes a trial invalid that did not meet its own conditions.
func gates(trial *result.Trial) {
	for _, g := range trial.Gates {
		if !g.OK {
			trial.Outcome = result.Invalid
			trial.Reason = fmt.Sprintf("gate %s: %s: %.4g %s, limit %.4g", g.Name, g.Text, g.Value, g.Unit, g.Limit)
			return
		}
	}
}

// guard turns a panic of a scenario into an invalid trial: the trials that are
// finished, and those to come, must not suffer from it.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = scenario.Invalid{Reason: fmt.Errorf("a defect of gatemark: %v\n%s", p, debug.Stack())}
		}
	}()
	return f()
}
