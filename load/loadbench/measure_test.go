package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/bench"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := command()
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestWrongFlags: all problems are said at once, before anything is started.
func TestWrongFlags(t *testing.T) {
	_, err := run(t, "--quick", "--full", "--table", "speed", "--tool", "ab", "--duration", "1500ms", "--rounds", "-1", "--connections", "0")
	if failure.CodeOf(err) != failure.Usage {
		t.Errorf("exit code %d", failure.CodeOf(err))
	}
	for _, want := range []string{
		"--quick and --full exclude each other", `--table "speed" is not one of cost, protocols, open-loop, truth`, `no tool is called "ab"`,
		"--duration 1.5s: want whole seconds", "--rounds -1 is not between", "--connections 0 is not between",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

// TestNoTools: where nothing can be had, the error says what to do.
func TestNoTools(t *testing.T) {
	t.Setenv("PATH", "")
	out, err := run(t, "--tool", "gatemark,fortio", "--gatemark", filepath.Join(t.TempDir(), "gatemark"), "--folder", t.TempDir())
	if err == nil || len(failure.Hints(err)) != 1 {
		t.Errorf("%v, hints %q", err, failure.Hints(err))
	}
	for _, want := range []string{"skipped: no gatemark io_uring", "skipped: no fortio: fortio is neither in"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nlacks %s", out, want)
		}
	}
}

// TestReport: what --output has written can be printed again.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	results := &bench.Results{Schema: bench.Schema, Started: time.Unix(0, 0), Cost: []bench.Run{
		{Tool: "wrk", Service: "HTTP/1.1", Path: "veth", Connections: 16, Duration: 1, Steady: bench.Span{Seconds: 1, CPU: 1, Machine: 2, Requests: 12345}, Report: attack.Report{Requests: 12345}},
	}}
	if err := writeResults(path, results); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "report", path, "--markdown")
	if err != nil || !strings.Contains(out, "### HTTP/1.1, closed loop, 16 connections, veth") || !strings.Contains(out, "| wrk | 12,345 |") {
		t.Errorf("%v\n%s", err, out)
	}
	results.Schema++
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "report", path); err == nil || !strings.Contains(err.Error(), "has schema 2; this program reads 1") {
		t.Errorf("%v", err)
	}
}
