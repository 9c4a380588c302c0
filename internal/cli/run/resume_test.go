package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/result"
	engine "github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario"
)

// cutOff is a run of one trial on a cluster in memory, whose session is gone.
func cutOff(t *testing.T) (result.Directory, *fakeapi.Server, string) {
	t.Helper()
	core := corev1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Namespace"), Name: "namespaces"},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Secret"), Name: "secrets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("GatewayClass"), Name: "gatewayclasses"},
	)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := result.Directory(t.TempDir())
	run := &result.Run{SchemaVersion: result.SchemaVersion, ID: "r", Notes: []string{notCompleted + "the cluster was out of reach", "another note"},
		Schedule: []result.TrialRef{{ID: "b01-s-i", Implementation: "i", Scenario: "s", Block: 1}}}
	run.Environment.Cluster = result.Cluster{Kind: cluster.Context, Name: "c"}
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	config := engine.Config{RunID: "r", Plan: &plan.Plan{}, Schedule: run.Schedule, Targets: map[string]scenario.Target{"i": {GatewayClass: "class"}}}
	if err := saveSession(dir, config, "image"); err != nil {
		t.Fatal(err)
	}
	return dir, server, kubeconfig
}

func resumeRun(t *testing.T, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestWhatWasRemovedIsNotMeasured: without their implementation, trials would
// fail and accuse it.
func TestWhatWasRemovedIsNotMeasured(t *testing.T) {
	dir, server, kubeconfig := cutOff(t)
	_, _, err := resumeRun(t, "--resume", string(dir), "--kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "i is not installed any more: cluster c has no GatewayClass class") {
		t.Fatalf("error %v", err)
	}
	if hints := failure.Hints(err); failure.CodeOf(err) != failure.CouldNotRun || len(hints) != 1 {
		t.Errorf("exit code %d, hints %q", failure.CodeOf(err), hints)
	}
	if slices.ContainsFunc(server.Requests(), func(r string) bool { return !strings.HasPrefix(r, "GET ") }) {
		t.Errorf("it wrote to the cluster: %q", server.Requests())
	}
	// With the class, it goes on as far as the fake lets it: to the runner.
	server.Put(t, &gatewayv1.GatewayClass{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "GatewayClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "class"}})
	_, _, err = resumeRun(t, "--resume", string(dir), "--kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "start the runner: apply serviceaccount gatemark-r/runner") {
		t.Errorf("error %v", err)
	}
	run, err := dir.ReadRun()
	if err != nil || run.Ended == nil || len(run.Notes) != 2 || run.Notes[0] != "another note" || !strings.HasPrefix(run.Notes[1], notCompleted+"start the runner") {
		t.Errorf("the run says %q, ended %v, %v", run.Notes, run.Ended, err)
	}
}

func TestASessionThatCannotBeRead(t *testing.T) {
	dir, _, kubeconfig := cutOff(t)
	for _, text := range []string{"", "{", `{"config": 3}`} {
		if err := os.WriteFile(filepath.Join(string(dir), sessionFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := resumeRun(t, "--resume", string(dir), "--kubeconfig", kubeconfig); err == nil || !strings.Contains(err.Error(), sessionFile) {
			t.Errorf("session %q: %v", text, err)
		}
	}
}

func TestASavedSessionReadsBack(t *testing.T) {
	dir := result.Directory(t.TempDir())
	config := engine.Config{RunID: "r", Namespace: "n", EchoImage: "echo", AuditLog: "/log",
		Plan:     &plan.Plan{Repeats: 2, Scenarios: []plan.Trial{{Name: "s", Parameters: map[string]any{"routes": 3.0, "hold": "3s"}}}},
		Schedule: []result.TrialRef{{ID: "b01-s-i", Scenario: "s", Block: 1}},
		Targets:  map[string]scenario.Target{"i": {GatewayClass: "c", ConfigDump: &scenario.ConfigDump{Format: "envoy", Port: 19000}}}}
	if err := saveSession(dir, config, "image"); err != nil {
		t.Fatal(err)
	}
	saved, err := readSession(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(savedSession{config, "image"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(saved); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read back: %s, %v; want %s", got, err, want)
	}
}
