package report

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// Scripts rely on these paths in report.json.
func TestJSONContract(t *testing.T) {
	run, trials := newSynthetic(200, 1, "envoy-gateway")
	var b bytes.Buffer
	if err := Render(&b, "json", run, trials); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SchemaVersion string
		Run           map[string]any
		Trials        []struct {
			ID, Implementation, Scenario, Variant, Outcome, Reason string
			Block                                                  int
			Metrics                                                map[string]map[string]any
			Findings                                               []struct {
				ID, Severity, Text string
				Evidence           []map[string]any
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SchemaVersion == "" {
		t.Error("no schemaVersion")
	}
	for _, key := range []string{"id", "started", "plan", "environment"} {
		if doc.Run[key] == nil {
			t.Errorf("no run.%s", key)
		}
	}
	if len(doc.Trials) != len(trials) {
		t.Fatalf("%d trials of %d", len(doc.Trials), len(trials))
	}
	for _, trial := range doc.Trials {
		if trial.ID == "" || trial.Implementation == "" || trial.Scenario == "" || trial.Outcome == "" || trial.Block == 0 {
			t.Errorf("trial lacks what names it: %+v", trial)
		}
		for name, m := range trial.Metrics {
			if m["unit"] == nil || m["n"] == nil || m["value"] == nil && m["p50"] == nil && m["censored"] == nil {
				t.Errorf("metric %s lacks its unit, n or numbers: %v", name, m)
			}
		}
	}
}

func TestJSONTrialsAreNeverNull(t *testing.T) {
	run, _ := newSynthetic(1, 1, "envoy-gateway")
	var b bytes.Buffer
	if err := Render(&b, "json", run, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"trials":[]`) {
		t.Error("no trials are not an empty list")
	}
}

// Reports render old runs for ever, so they depend on no cluster's API.
func TestReachesNoCluster(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{
		"report": true, "report/chart": true, "report/quantity": true, "result": true, "stat": true,
	}
	for _, dep := range strings.Fields(string(out)) {
		if strings.HasPrefix(dep, "k8s.io/") || strings.HasPrefix(dep, "sigs.k8s.io/") {
			t.Errorf("report depends on %s", dep)
		}
		if ours, ok := strings.CutPrefix(dep, "github.com/gatemark/gatemark/"); ok && !allowed[ours] {
			t.Errorf("report depends on our %s", ours)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	run, trials := newSynthetic(3000, 20, "envoy-gateway")
	b.ReportAllocs()
	var size int
	for b.Loop() {
		var out bytes.Buffer
		if err := Render(&out, "html", run, trials); err != nil {
			b.Fatal(err)
		}
		size = out.Len()
	}
	b.ReportMetric(float64(size), "B/page")
}

func BenchmarkMarkdown(b *testing.B) {
	run, trials := newSynthetic(3000, 20, "envoy-gateway")
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := Render(&out, "md", run, trials); err != nil {
			b.Fatal(err)
		}
	}
}
