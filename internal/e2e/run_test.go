package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatemark/gatemark/result"
)

// TestRun goes through the life of runs on one cluster: completed, cut off and
// taken up again, with a lost runner, interrupted; and then nothing is left.
func TestRun(t *testing.T) {
	b := newBench(t)
	t.Run("completed", func(t *testing.T) { completed(t, b) })
	t.Run("killed and resumed", func(t *testing.T) { resumed(t, b) })
	t.Run("lost runner", func(t *testing.T) { lostRunner(t, b) })
	t.Run("interrupted", func(t *testing.T) { interrupted(t, b) })
	t.Run("killed and cleaned", func(t *testing.T) { cleaned(t, b) })
}

func completed(t *testing.T, b *bench) {
	dir := t.TempDir()
	code, out := b.do(b.small(dir)...)
	// A busy machine can make trials invalid; that is 4, and said.
	if code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"report.html", "report.md", "report.json", "run.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	contract(t, filepath.Join(dir, "report.json"))
	d := document(t, dir)
	covered(t, d)
	for _, trial := range d.Trials {
		switch trial.Outcome {
		case result.OK:
			headlines(t, d.Run, trial)
		case result.Invalid:
			if trial.Reason == "" {
				t.Errorf("trial %s is invalid without a reason", trial.ID)
			}
		default:
			t.Errorf("trial %s is %s: %s", trial.ID, trial.Outcome, trial.Reason)
		}
	}
	architectureAgrees(t, d)
	if img := d.Run.Implementations["envoy-gateway"].Images; len(img) < 2 || img[0].Digest == "" {
		t.Errorf("images %+v", img)
	}
	nothingLeft(t, b)
}

// contract checks the fields that scripts rely on, by their names.
func contract(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		SchemaVersion string                     `json:"schemaVersion"`
		Run           map[string]json.RawMessage `json:"run"`
		Trials        []map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.SchemaVersion == "" {
		t.Error("no schemaVersion")
	}
	for _, name := range []string{"id", "started", "plan", "environment"} {
		if d.Run[name] == nil {
			t.Errorf("run has no %s", name)
		}
	}
	for _, trial := range d.Trials {
		for _, name := range []string{"id", "implementation", "scenario", "block", "outcome"} {
			if trial[name] == nil {
				t.Errorf("trial %s has no %s", trial["id"], name)
			}
		}
	}
}

// covered checks that every planned trial has a result.
func covered(t *testing.T, d result.Document) {
	t.Helper()
	have := map[string]bool{}
	for _, trial := range d.Trials {
		have[trial.Scenario] = true
	}
	for _, ref := range d.Run.Schedule {
		if !have[ref.Scenario] {
			t.Errorf("trial %s left no result", ref.ID)
		}
	}
}

func headlines(t *testing.T, run *result.Run, trial *result.Trial) {
	t.Helper()
	for _, name := range run.Scenarios[trial.Scenario].Headline {
		if _, ok := trial.Metrics[name]; !ok {
			t.Errorf("trial %s has no metric %s", trial.ID, name)
		}
	}
}

func nothingLeft(t *testing.T, b *bench) {
	t.Helper()
	for _, kind := range []string{"namespaces", "clusterroles", "clusterrolebindings", "customresourcedefinitions"} {
		if left := b.kubectl("get", kind, "-l", "gatemark.dev/owner=gatemark", "-o", "name"); left != "" && !strings.HasPrefix(left, "No resources") {
			t.Errorf("left behind: %s", left)
		}
	}
	left := b.kubectl("get", "namespaces", "-o", "name")
	for _, namespace := range []string{"envoy-gateway-", "projectcontour", "truth-system", "namespace/gm-"} {
		if strings.Contains(left, namespace) {
			t.Errorf("left behind: %s", left)
		}
	}
}

func resumed(t *testing.T, b *bench) {
	dir := t.TempDir()
	cmd, out := b.background("trial 1 of", b.brief(dir)...)
	b.runnerBusy()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
	code, text := b.do("run", "--resume", dir)
	if code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s\nbefore that:\n%s", code, text, out)
	}
	covered(t, document(t, dir))
	nothingLeft(t, b)
}

func lostRunner(t *testing.T, b *bench) {
	dir := t.TempDir()
	cmd, out := b.background("trial 1 of", b.brief(dir)...)
	b.runnerBusy()
	b.kubectl("delete", "pods", "-A", "-l", "app=runner", "--grace-period=0", "--force")
	if code := exitCode(t, cmd.Wait()); code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	d := document(t, dir)
	covered(t, d)
	lost := 0
	for _, trial := range d.Trials {
		if trial.Outcome == result.Invalid && strings.Contains(trial.Reason, "runner was lost") {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d trials say that their runner was lost, want 1\n%s", lost, out)
	}
	nothingLeft(t, b)
}

func interrupted(t *testing.T, b *bench) {
	dir := t.TempDir()
	cmd, out := b.background("trial 1 of", b.brief(dir)...)
	b.runnerBusy()
	if code := interrupt(t, cmd, syscall.SIGINT); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "report.html")); err != nil {
		t.Errorf("an interrupted run reports what there is: %v", err)
	}
	nothingLeft(t, b)
}

func cleaned(t *testing.T, b *bench) {
	cmd, out := b.background("trial 1 of", b.brief(t.TempDir())...)
	b.runnerBusy()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
	if code, text := b.do("clean", "--name", b.name); code != 0 {
		t.Fatalf("clean: exit code %d\n%s\nafter:\n%s", code, text, out)
	}
	nothingLeft(t, b)
	if code, text := b.do("clean", "--name", b.name); code != 0 {
		t.Errorf("clean, when clean: exit code %d\n%s", code, text)
	}
}
