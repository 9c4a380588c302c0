package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// seizing is a seizer of a trial in a lab, with one control-plane pod that has
// a log.
func seizing(t *testing.T) *seizer {
	t.Helper()
	l := startLab(t)
	trial := &scenario.Trial{Kube: l.Kube, Target: l.Config.Targets["i"], Namespace: "trial", Progress: func(string, ...any) {},
		Result: &result.Trial{ID: "b01", Scenario: "s", Started: time.Now()}, Attachments: map[string][]byte{}}
	l.open(t, "trial", &proxy{})
	s := &seizer{Executor: l.Executor, ctx: t.Context(), trial: trial}
	trial.Seize = s.seize
	return s
}

// TestEvidenceIsTakenAtOnce, when something is noticed, and not when it is told.
func TestEvidenceIsTakenAtOnce(t *testing.T) {
	s := seizing(t)
	trial := s.trial
	trial.Broken("errors")
	const file = "evidence/errors/object-gateway-trial-gateway.yaml"
	if !strings.Contains(string(trial.Attachments[file]), "name: gateway") {
		t.Fatalf("attachments %q", slices.Sorted(maps.Keys(trial.Attachments)))
	}
	trial.Attachments[file] = []byte("as it was")
	trial.Broken("errors")
	trial.Find("errors", result.Broken, "text", result.Evidence{Name: "first"})
	trial.Find("soon-after", result.Broken, "text") // shares it
	trial.Find("notable", result.Notable, "text")
	if string(trial.Attachments[file]) != "as it was" || s.bundles != 1 {
		t.Errorf("%d bundles", s.bundles)
	}
	for n, want := range []bool{true, true, false} {
		f := trial.Result.Findings[n]
		if got := slices.ContainsFunc(f.Evidence, func(e result.Evidence) bool { return e.File == file }); got != want {
			t.Errorf("%s refers to the bundle: %v", f.ID, got)
		}
	}
	if trial.Result.Findings[0].Evidence[0].Name != "first" {
		t.Errorf("evidence %+v", trial.Result.Findings[0].Evidence)
	}
}

// TestBundlesAreFew: a trial in which everything breaks keeps the first ones.
func TestBundlesAreFew(t *testing.T) {
	s := seizing(t)
	for n := range mostBundles + 2 {
		s.trial.Find(fmt.Sprint("f", n), result.Broken, "text")
		s.last = s.last.Add(-2 * sameInstant)
	}
	if s.bundles != mostBundles {
		t.Errorf("%d bundles, want %d", s.bundles, mostBundles)
	}
	for n, f := range s.trial.Result.Findings {
		if (len(f.Evidence) > 0) != (n < mostBundles) {
			t.Errorf("finding %d has evidence %+v", n, f.Evidence)
		}
	}
	if notes := strings.Join(s.trial.Result.Notes, "\n"); !strings.Contains(notes, `no bundle of evidence for "f4": the trial had 4 already`) {
		t.Errorf("notes %q", notes)
	}
}

// TestFindingsOfObserversGetEvidence, which know no trial, and those that have
// some keep theirs alone.
func TestFindingsOfObserversGetEvidence(t *testing.T) {
	s := seizing(t)
	s.trial.Result.Findings = []result.Finding{
		{ID: "pods/crash", Severity: result.Broken, Evidence: []result.Evidence{{Name: "log", File: "incident/x.log"}}},
		{ID: "pods/restart", Severity: result.Costly},
	}
	s.trial.Find("own", result.Broken, "text")
	own := len(s.trial.Result.Findings[2].Evidence)
	s.complete()
	f := s.trial.Result.Findings
	if len(f[0].Evidence) < 2 || f[1].Evidence != nil || len(f[2].Evidence) != own || own == 0 {
		t.Errorf("findings %+v", f)
	}
}
