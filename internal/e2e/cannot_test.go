package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/result"
)

// described writes the folder of an implementation that is truth under another
// name, with edits in its chart's template.
func described(t *testing.T, name string, edits map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS("../../implementation/truth")); err != nil {
		t.Fatal(err)
	}
	edit := func(file string, edits ...string) {
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for i := 0; i < len(edits); i += 2 {
			if !strings.Contains(text, edits[i]) {
				t.Fatalf("%q is not in %s", edits[i], file)
			}
			text = strings.ReplaceAll(text, edits[i], edits[i+1])
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit("implementation.yaml", "name: truth\n", "name: "+name+"\n", "title: Truth", "title: "+name, "truth-system", name+"-system", "truth-control", name+"-control")
	edit("chart/templates/control.yaml", "gatemark-truth", "gatemark-"+name, "truth-control", name+"-control", "name: truth\n", "name: "+name+"\n", "http://truth.", "http://"+name+".",
		"name: truth, namespace", "name: "+name+", namespace", "serviceAccountName: truth", "serviceAccountName: "+name)
	for from, to := range edits {
		edit("chart/templates/control.yaml", from, to)
	}
	return dir
}

// TestImplementationsThatCannotBeMeasured: a chart whose pods crash, one whose
// image is missing, and a Gateway that is never programmed are told in the
// pods' own words, and the rest of the run goes on.
func TestImplementationsThatCannotBeMeasured(t *testing.T) {
	if os.Getenv("GATEMARK_IMPLEMENTATIONS") == "" {
		t.Skip("waits for what never comes: set GATEMARK_IMPLEMENTATIONS")
	}
	b := newBench(t)
	crashing := described(t, "crashing", map[string]string{"        - control\n": "        - kontrol\n"})
	missing := described(t, "missing", map[string]string{"{{ .Values.controlPlane.image }}": "gatemark.local/missing:v1"})
	unprogrammed := described(t, "unprogrammed", map[string]string{"--image={{ .Values.dataPlane.image }}": "--image=gatemark.local/missing:v1"})
	dir := t.TempDir()
	code, out := b.do(append(b.brief(dir), "--implementation", strings.Join([]string{crashing, missing, unprogrammed}, ","), "--install-timeout", "25s")...)
	if code != 1 || !strings.Contains(out, "2 of 4 implementations could not be installed, and were not measured: crashing, missing") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	d := document(t, dir)
	covered(t, d)
	want := map[string]struct {
		outcome result.Outcome
		words   []string
	}{
		"truth":        {result.OK, nil},
		"crashing":     {result.Skipped, []string{"could not be installed", "container control: ", "ended with code 2", "its log ends with"}},
		"missing":      {result.Skipped, []string{"could not be installed", "container control: ", "gatemark.local/missing:v1"}},
		"unprogrammed": {result.Failed, []string{"Programmed", "container data: ", "gatemark.local/missing:v1"}},
	}
	for _, trial := range d.Trials {
		w := want[trial.Implementation]
		if trial.Outcome == result.Invalid && w.outcome == result.OK {
			continue // a busy machine
		}
		if trial.Outcome != w.outcome {
			t.Errorf("trial %s is %s: %s", trial.ID, trial.Outcome, trial.Reason)
		}
		for _, word := range w.words {
			if !strings.Contains(trial.Reason, word) {
				t.Errorf("%q is not in the reason of %s: %s", word, trial.ID, trial.Reason)
			}
		}
	}
	nothingLeft(t, b)
}
