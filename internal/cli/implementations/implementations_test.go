package implementations

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/broken"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

func do(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

func TestTheListSaysWhatIsTested(t *testing.T) {
	out, err := do(t)
	if err != nil {
		t.Fatal(err)
	}
	all, err := implementation.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if !strings.Contains(out, "\n"+i.Name+" ") || !strings.Contains(out, i.Version) {
			t.Errorf("%s %s is not in the list:\n%s", i.Name, i.Version, out)
		}
	}
	if strings.Contains(out, "truth") {
		t.Errorf("an internal one is in the list:\n%s", out)
	}
	out, err = do(t, "--output", "json")
	var rows []row
	if err != nil || json.Unmarshal([]byte(out), &rows) != nil || len(rows) != len(all) {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
}

func TestAnUntestedOneIsListedWithItsReason(t *testing.T) {
	var out bytes.Buffer
	if err := print(&out, []row{{Name: "a", Version: "v1.0.0", Tested: true}, {Name: "b", Version: "v2.0.0", Untested: "no chart can be had"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a     v1.0.0   here", "b     v2.0.0   untested here", "b is untested here: no chart can be had"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

// filledIn is what stands in the scaffold, by its line, for an author's answers.
var filledIn = map[string]string{
	"title": "Mine", "version": "v1.2.3", "url": "https://example.org", "repository": "https://example.org/mine",
	"openSource": `"yes"`, "license": "Apache-2.0", "vendors": "[Somebody]", "dataPlaneProxy": "Envoy", "dataPlaneProxyVersion": "v1.2.3",
	"controllerName": "example.org/mine", "container": "proxy",
}

func TestAScaffoldIsWholeOnceItIsFilledIn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if _, err := do(t, "new", "mine", "--directory", dir); err != nil {
		t.Fatal(err)
	}
	out, err := do(t, "check", dir)
	if failure.CodeOf(err) != failure.Usage {
		t.Errorf("as it was written: %v", err)
	}
	for _, field := range []string{"title", "version", "project.license", "project.vendors[0]", "gatewayClass.controllerName", "dataPlane.container"} {
		if !strings.Contains(out, field+": still says FILL-IN") {
			t.Errorf("%s is not named in:\n%s", field, out)
		}
	}
	fill(t, filepath.Join(dir, "implementation.yaml"))
	writeChart(t, filepath.Join(dir, "chart"), "mine")
	out, err = do(t, "check", dir)
	if err != nil || strings.Contains(out, "WRONG") || !strings.Contains(out, "ok      controlPlane.workloads Deployment mine: is in the chart") {
		t.Errorf("filled in: %v\n%s", err, out)
	}
	if _, err := do(t, "new", "mine", "--directory", dir); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over what is there: %v", err)
	}
	if _, err := do(t, "new", "Not_A_Name"); failure.CodeOf(err) != failure.Usage {
		t.Errorf("a bad name: %v", err)
	}
}

func fill(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var filled []string
	for _, text := range strings.Split(string(data), "\n") {
		key, _, _ := strings.Cut(strings.TrimSpace(text), ":")
		if strings.Contains(text, "FILL-IN") && !strings.HasPrefix(strings.TrimSpace(text), "#") {
			value, ok := filledIn[key]
			if !ok {
				t.Fatalf("nothing to fill in for %q", text)
			}
			text = text[:strings.Index(text, key)] + key + ": " + value
		}
		filled = append(filled, text)
	}
	if err := os.WriteFile(file, []byte(strings.Join(filled, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeChart makes a chart with a Deployment of that name.
func writeChart(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: mine\nversion: 1.2.3\n",
		"templates/control.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: mine}}
  template:
    metadata: {labels: {app.kubernetes.io/name: mine}}
    spec: {containers: [{name: mine, image: example/mine}]}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatTheChartLacksIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if _, err := do(t, "new", "mine", "--directory", dir); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "implementation.yaml"))
	out, err := do(t, "check", dir)
	if failure.CodeOf(err) != failure.Usage || !strings.Contains(out, "WRONG   chart:") {
		t.Errorf("without a chart: %v\n%s", err, out)
	}
	writeChart(t, filepath.Join(dir, "chart"), "other")
	out, err = do(t, "check", dir)
	if failure.CodeOf(err) != failure.Usage || !strings.Contains(out, `the chart renders no such object, but ["Deployment other"]`) {
		t.Errorf("with another workload: %v\n%s", err, out)
	}
}

// TestBrokenFolders: every problem is named, and the exit code is 2.
func TestBrokenFolders(t *testing.T) {
	whole := os.DirFS("../../../implementation/envoygateway")
	for _, c := range broken.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			files, err := c.Break(whole)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for name, file := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, file.Data, fs.FileMode(0o644)); err != nil {
					t.Fatal(err)
				}
			}
			out, err := do(t, "check", dir)
			if failure.CodeOf(err) != failure.Usage {
				t.Errorf("error %v", err)
			}
			for _, want := range c.Want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in:\n%s", want, out)
				}
			}
		})
	}
}

func TestANameThatIsNone(t *testing.T) {
	out, err := do(t, "check", "envoygateway")
	if failure.CodeOf(err) != failure.Usage || !strings.Contains(strings.Join(failure.Hints(err), ""), "did you mean envoy-gateway?") {
		t.Errorf("error %v\n%s", err, out)
	}
	if _, err := do(t, "check"); failure.CodeOf(err) != failure.Usage {
		t.Errorf("without an argument: %v", err)
	}
}
