package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
)

// The isolations of a plan: see plan.Isolations.
const (
	parked = "parked"
	joined = "joined"
)

// atRest is when a node has come to rest after implementations were stopped and
// started on it. A busy cluster may never do so: then the trial says it.
var atRest = park.Calm{Share: 0.3, For: 3 * time.Second, Limit: 30 * time.Second}

// installation is what a treatment is installed as: its copies share it.
func installation(treatment string) string {
	return plan.ParseTreatment(treatment, func(string) bool { return false }).Installation()
}

// others are the targets that are installed beside a treatment, by name.
func (c *Config) others(treatment string) []scenario.Target {
	var all []scenario.Target
	seen := map[string]bool{installation(treatment): true}
	for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
		if installed := installation(name); !seen[installed] {
			seen[installed] = true
			all = append(all, c.Targets[name])
		}
	}
	return all
}

// arrange makes the cluster what the plan's isolation says: with parked, the
// other implementations that this run installed are set aside, and the one
// under test is brought back.
func (e *Executor) arrange(ctx context.Context, t *scenario.Trial) error {
	if len(t.Others) == 0 {
		return nil
	}
	if t.Isolation != parked {
		t.Note("Installed beside it, and running: %s.", names(t.Others))
		if s := e.scenario(t.Result.Scenario); t.Isolation == joined && (s == nil || !s.Joins) {
			t.Note("This scenario's routes name its own Gateway only, although the plan says joined.")
		}
		return nil
	}
	parker := e.parker(t)
	changed := false
	for _, other := range t.Others {
		in, ours := e.Config.Installed[installation(other.Treatment)]
		if !ours { // it was found here, and is not ours to touch
			t.Note("%s was not installed by this run, and stays on.", other.Treatment)
			continue
		}
		did, err := parker.Park(ctx, in)
		if err != nil {
			return err
		}
		changed = changed || did
		t.Note("Set aside during this trial: %s.", other.Treatment)
	}
	if under, ours := e.Config.Installed[installation(t.Target.Treatment)]; ours {
		did, err := parker.Restore(ctx, under.Name)
		if err != nil {
			return err
		}
		if err := parker.AwaitReady(ctx, under); err != nil {
			return err
		}
		changed = changed || did
	}
	if changed {
		return e.settle(ctx, t)
	}
	return nil
}

func (e *Executor) parker(t *scenario.Trial) *park.Parker {
	return &park.Parker{Kube: e.Kube, Run: e.Config.RunID, Namespace: e.Config.Namespace,
		Step: func(what string) { t.Progress("%s", what) }}
}

// settle waits for the node to come to rest.
func (e *Executor) settle(ctx context.Context, t *scenario.Trial) error {
	t.Progress("waiting for the node to come to rest")
	calm := atRest
	if e.calm != nil {
		calm = *e.calm
	}
	share, rests, err := calm.Await(ctx)
	if err != nil {
		return fmt.Errorf("wait for the node to come to rest: %w", err)
	}
	if !rests {
		t.Note("The node did not come to rest within %s of setting implementations aside: %.0f %% of its CPUs were in use.", calm.Limit, 100*share)
	}
	return nil
}

// undisturbed returns an error if what was set aside for the trial came back
// during it.
func (e *Executor) undisturbed(ctx context.Context, t *scenario.Trial) error {
	if t.Isolation != parked {
		return nil
	}
	var problems []error
	for _, other := range t.Others {
		if in, ours := e.Config.Installed[installation(other.Treatment)]; ours {
			problems = append(problems, e.parker(t).Undisturbed(ctx, in))
		}
	}
	return errors.Join(problems...)
}

// bringBack ends all isolation: what an earlier trial left needs its own
// control plane to go away.
func (e *Executor) bringBack(ctx context.Context) error {
	if len(e.Config.Installed) == 0 {
		return nil
	}
	_, err := park.RestoreAll(ctx, e.Kube, e.Config.Namespace, e.Config.RunID)
	return err
}

func names(targets []scenario.Target) string {
	var all []string
	for _, t := range targets {
		all = append(all, t.Treatment)
	}
	return strings.Join(all, ", ")
}
