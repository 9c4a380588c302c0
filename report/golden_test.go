package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/report/chart"
	"github.com/gatemark/gatemark/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	single, singleTrials := newSynthetic(40, 1, "envoy-gateway")
	repeated, repeatedTrials := newSynthetic(12, 6, "envoy-gateway", "istio")
	stopped, stoppedTrials := newSynthetic(12, 2, "envoy-gateway")
	stopped.Ended = nil
	compared, comparedTrials := fleet()
	for name, render := range map[string]func(b *bytes.Buffer) error{
		"single.html": func(b *bytes.Buffer) error { return bodyOnly(b, single, singleTrials) },
		"single.md":   func(b *bytes.Buffer) error { return Render(b, "md", single, singleTrials) },
		"single.json": func(b *bytes.Buffer) error { return Render(b, "json", single, singleTrials) },
		"single.txt": func(b *bytes.Buffer) error {
			return Terminal(b, single, singleTrials, Options{Directory: "runs/latest"})
		},
		"stopped.html": func(b *bytes.Buffer) error { return bodyOnly(b, stopped, stoppedTrials) },
		"stopped.md":   func(b *bytes.Buffer) error { return Render(b, "md", stopped, stoppedTrials) },
		"repeated.txt": func(b *bytes.Buffer) error { return Terminal(b, repeated, repeatedTrials, Options{Width: 120}) },
		"compared.md":  func(b *bytes.Buffer) error { return Render(b, "md", compared, comparedTrials) },
		"compared.txt": func(b *bytes.Buffer) error { return Terminal(b, compared, comparedTrials, Options{}) },
		"narrow.txt":   func(b *bytes.Buffer) error { return Terminal(b, repeated, repeatedTrials, Options{Width: 50}) },
		"stopped.txt":  func(b *bytes.Buffer) error { return Terminal(b, stopped, stoppedTrials[:2], Options{Color: true}) },
		"empty.md":     func(b *bytes.Buffer) error { return Render(b, "md", stopped, nil) },
		"empty.txt":    func(b *bytes.Buffer) error { return Terminal(b, stopped, nil, Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := render(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

// bodyOnly leaves out style sheets and script, which have files of their own.
func bodyOnly(b *bytes.Buffer, run *result.Run, trials []*result.Trial) error {
	var page bytes.Buffer
	if err := Render(&page, "html", run, trials); err != nil {
		return err
	}
	text := page.String()
	for name, embedded := range map[string]string{"chart style": chart.Style, "style": pageStyle, "script": pageScript} {
		text = strings.Replace(text, embedded, "/* "+name+" */", 1)
	}
	_, err := b.WriteString(text)
	return err
}

// golden compares with testdata/name, and leaves what it got beside it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if err := os.WriteFile(path+".got", got, 0o644); err != nil {
		t.Error(err)
	}
	t.Errorf("%s.got differs; if it is right: go test ./report -run Golden -update\n%s", path, shortDiff(string(want), string(got)))
}

// shortDiff keeps a failure readable: a page's diff has thousands of lines.
func shortDiff(want, got string) string {
	diff := cmp.Diff(want, got)
	const most = 4000
	if len(diff) > most {
		diff = diff[:most] + "\n..."
	}
	return diff
}

func TestWriteLeavesEveryFormat(t *testing.T) {
	dir := result.Directory(t.TempDir())
	run, trials := newSynthetic(20, 1, "envoy-gateway")
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		if err := dir.WriteTrial(trial, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Twice: a report replaces the one before it.
	for range 2 {
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"report.html", "report.md", "report.json", "figures/scenario-1-attached-routes-count.svg"} {
		got, err := os.ReadFile(filepath.Join(string(dir), name))
		if err != nil {
			t.Error(err)
		}
		if len(got) < 500 {
			t.Errorf("%s has %d bytes", name, len(got))
		}
	}
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 6 { // with run.json, trials and figures
		t.Errorf("left in the directory: %v", entries)
	}
}

func TestWriteNeedsARun(t *testing.T) {
	if err := Write(result.Directory(t.TempDir())); err == nil {
		t.Error("a directory without a run was reported on")
	}
}

func TestRenderKnowsItsFormats(t *testing.T) {
	run, _ := newSynthetic(1, 1, "envoy-gateway")
	if err := Render(&bytes.Buffer{}, "pdf", run, nil); err == nil {
		t.Error("an unknown format was rendered")
	}
}
