package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gatemark/gatemark/result"
)

const instrumentPlan = `apiVersion: gatemark.dev/v1
kind: Plan
implementations:
- name: truth
  values: {faults: %s}
scenarios:
- name: route-propagation
  parameters: {routes: 10, limit: 5s}
- name: attached-routes
  parameters: {routes: 20, hold: 1s, limit: 10s}
`

// TestInstrumentInPods is a slice of the matrix of truth/detection as users
// have it: gatemark itself, pods, a real cluster.
func TestInstrumentInPods(t *testing.T) {
	if os.Getenv("GATEMARK_INSTRUMENT") != "whole" {
		t.Skip("part of make test-instrument: set GATEMARK_INSTRUMENT=whole")
	}
	b := newBench(t)
	for _, c := range []struct {
		name, faults string
		// finds must come, brings may.
		finds, brings []string
	}{
		{"nothing is wrong", "{}", nil, nil},
		{"replicas take routes late", "{propagation: 1500000000}", []string{"route-propagation/slow"}, []string{"route-propagation/status-early", "attached-routes/not-served"}},
		{"every 100th request gets a 503", "{errorEvery: 100}", []string{"route-propagation/errors"},
			[]string{"route-propagation/errors-at-rest", "route-propagation/never-served", "attached-routes/not-served", "route-propagation/slow", "route-propagation/status-early"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "plan.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, instrumentPlan, c.faults), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out := b.do("run", "--name", b.name, "--plan", file, "--output-dir", filepath.Join(dir, "run"))
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			found := map[string]string{}
			for _, trial := range document(t, filepath.Join(dir, "run")).Trials {
				if trial.Outcome == result.Invalid {
					continue // it was repeated
				}
				for _, f := range trial.Findings {
					found[f.ID] = f.Text
				}
			}
			for id, text := range found {
				t.Logf("%s: %s", id, text)
				if !slices.Contains(c.finds, id) && !slices.Contains(c.brings, id) {
					t.Errorf("%s came without reason: %s", id, text)
				}
			}
			for _, id := range c.finds {
				if found[id] == "" {
					t.Errorf("%s did not come", id)
				}
			}
		})
	}
}
