package inprocess

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// TestScenarios: the clean implementation, asked for everything that there is.
func TestScenarios(t *testing.T) {
	c, _ := begin(t, Options{Replicas: 2})
	kubetest.Namespace(t, c, "b")
	t.Run("every kind of change", func(t *testing.T) { everyKindOfChange(t, c) })
	t.Run("attached to everything", func(t *testing.T) { attachedToEverything(t, c) })
}

// everyKindOfChange: every change of every kind is seen to come into force, on
// routes of every shape.
func everyKindOfChange(t *testing.T, c *kube.Client) {
	const rounds = 2
	got := measure(t, c, "route-propagation", "a", map[string]any{
		"routes": 16, "step": "2ms", "freshStep": "10ms", "settle": "100ms", "changes": "all", "shapes": "all", "rounds": rounds,
	}, nil)
	nothingFound(t, got)
	changes := table(t, got, "changes")
	for _, row := range changes.Rows[1:] {
		if row[1] != fmt.Sprint(rounds) || row[2] != row[1] {
			t.Errorf("made and in force: %q", row)
		}
	}
	if len(changes.Rows) != 10 || len(table(t, got, "shapes").Rows) != 8 {
		t.Errorf("%d kinds of change, %d shapes", len(changes.Rows), len(table(t, got, "shapes").Rows))
	}
	for _, name := range []string{"header", "backend", "weight", "match", "host", "recreate"} {
		if m := got.Metrics["change-"+name+"-status"]; m.N != rounds {
			t.Errorf("change-%s-status: %+v", name, m)
		}
	}
}

// attachedToEverything: listeners, ListenerSets and the Gateway of another
// implementation, which here is the same one.
func attachedToEverything(t *testing.T, c *kube.Client) {
	got := measure(t, c, "attached-routes", "b", map[string]any{
		"routes": 30, "listeners": 2, "listenerSets": 2, "setListeners": 2, "increments": 2, "hold": "500ms", "limit": "20s",
	}, func(trial *scenario.Trial) {
		other := trial.Target
		other.Treatment = "other"
		trial.Isolation, trial.Others = "joined", []scenario.Target{other}
	})
	nothingFound(t, got)
	for _, name := range []string{"setup", "setup-l0", "setup-set1-l1", "teardown-set0-l0"} {
		if m, there := got.Metrics[name]; !there || m.Value == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := got.Metrics["answers-right"]; m.Value == nil || *m.Value != 2*30*6 {
		t.Errorf("answers-right: %+v", m)
	}
	for _, name := range []string{"one-more", "one-fewer"} {
		if m := got.Metrics[name]; m.N != 2 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	for _, row := range table(t, got, "joined").Rows {
		if slices.Contains(row[:4], "never") {
			t.Errorf("row %q", row)
		}
	}
	// One for the Gateway, the two sets and the other's Gateway each.
	if rows := table(t, got, "entries").Rows; len(rows) != 1 || rows[0][1] != "120" || rows[0][3] != "0" {
		t.Errorf("entries %q", rows)
	}
}

// nothingFound: of what a busy machine cannot bring about.
func nothingFound(t *testing.T, r *result.Trial) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Severity == result.Broken {
			t.Errorf("finding %s: %s\n%s", f.ID, f.Text, f.Evidence[0].Text)
		}
	}
}

func table(t *testing.T, r *result.Trial, name string) result.Table {
	t.Helper()
	for _, one := range r.Tables {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("there is no table %s", name)
	return result.Table{}
}
