package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/result"
)

func runDirectory(t *testing.T) result.Directory {
	t.Helper()
	dir := result.Directory(t.TempDir())
	run := &result.Run{SchemaVersion: result.SchemaVersion, ID: "r", Started: time.Unix(0, 0)}
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	trial := &result.Trial{SchemaVersion: result.SchemaVersion, ID: "t", Implementation: "envoy-gateway", Scenario: "s", Block: 1, Outcome: result.OK}
	if err := dir.WriteTrial(trial, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func execute(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := New(cli.Streams{Out: &out, Err: &out})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func files(t *testing.T, dir result.Directory) string {
	t.Helper()
	matches, err := filepath.Glob(filepath.Join(string(dir), "report.*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range matches {
		matches[i] = filepath.Base(m)
	}
	return strings.Join(matches, " ")
}

func TestWritesEveryFormat(t *testing.T) {
	dir := runDirectory(t)
	out, err := execute(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); got != "report.html report.json report.md" {
		t.Errorf("wrote %s", got)
	}
	if !strings.Contains(out, "envoy-gateway: 1 scenario, 1 trial ok; no findings") || !strings.Contains(out, string(dir)+"/report.html") {
		t.Errorf("printed %s", out)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colours where there is no terminal")
	}
}

func TestPrintsOneFormat(t *testing.T) {
	for format, want := range map[string]string{
		"html": "<!doctype html>", "md": "# envoy-gateway", "text": "envoy-gateway: 1 scenario", "json": `{"schemaVersion"`,
	} {
		dir := runDirectory(t)
		out, err := execute(string(dir), "--format", format)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out, want) {
			t.Errorf("%s begins with %.60q", format, out)
		}
		if format == "json" && !json.Valid([]byte(out)) {
			t.Error("not JSON")
		}
		if got := files(t, dir); got != "" {
			t.Errorf("%s: wrote %s", format, got)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "run.json"), []byte(`{"schemaVersion":"9.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args []string
		want string
		code failure.Code
		hint bool
	}{
		{nil, "takes one run directory", failure.Usage, true},
		{[]string{"a", "b"}, "takes one run directory", failure.Usage, true},
		{[]string{string(runDirectory(t)), "--format", "pdf"}, `report format "pdf" is not one of html, md, json, text`, failure.Usage, false},
		{[]string{t.TempDir()}, "run.json", failure.CouldNotRun, true},
		{[]string{broken}, `schema version "9.0"`, failure.CouldNotRun, false},
	}
	for _, c := range cases {
		_, err := execute(c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || failure.CodeOf(err) != c.code {
			t.Errorf("%q: code %d, %v; want code %d, %s", c.args, failure.CodeOf(err), err, c.code, c.want)
		}
		if got := len(failure.Hints(err)) > 0; got != c.hint {
			t.Errorf("%q: hint %v", c.args, got)
		}
	}
}
