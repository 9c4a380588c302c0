package clean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/run/park"
)

func clean(t *testing.T, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(cli.Streams{Out: &stdout, Err: &stderr})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func configMap(name, run string, extra map[string]string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: extra},
	}
	if run != "" {
		kube.Own(cm, run, "")
	}
	return cm
}

func TestCleanOneRun(t *testing.T) {
	server := startServer(t)
	server.Put(t, configMap("one", "r1", nil))
	server.Put(t, configMap("two", "r2", nil))
	server.Put(t, configMap("part", "r1", map[string]string{install.PartLabel: "envoy-gateway"}))
	server.Put(t, configMap("theirs", "", nil))
	out, said, err := clean(t, "--kubeconfig", kubeconfigOf(t, server), "--run", "r1", "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var done summary
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(summary{Cluster: "c", Deleted: 1}, done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"configmaps a/part", "configmaps a/theirs", "configmaps a/two"}, server.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(said, "cluster c at "+server.URL+": removing what is labelled gatemark.dev/owner=gatemark,gatemark.dev/run=r1") {
		t.Errorf("it does not say what it does: %q", said)
	}
}

func startServer(t *testing.T) *fakeapi.Server {
	return fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "deployments", Namespaced: true})
}

// TestCleanEndsRunnersAndBringsBack: first the runner ends, which could set
// things aside again; then what it set aside comes back; then it is removed.
func TestCleanEndsRunnersAndBringsBack(t *testing.T) {
	server := startServer(t)
	runner := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "runner", Labels: map[string]string{"app": "runner"}}}
	kube.Own(runner, "r1", "")
	server.Put(t, runner)
	others := runner.DeepCopy()
	others.Name, others.Labels = "others", map[string]string{"app": "runner"}
	server.Put(t, others)
	control := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "control", UID: "u1", Labels: map[string]string{install.PartLabel: "product"}}}
	control.Spec.Replicas = ptr.To[int32](0)
	server.Put(t, control)
	manifest := configMap("parked-product", "r1", map[string]string{park.Label: "product"})
	manifest.Data = map[string]string{"workloads.json": `[{"kind":"Deployment","namespace":"system","name":"control","uid":"u1","replicas":3}]`}
	server.Put(t, manifest)
	_, said, err := clean(t, "--kubeconfig", kubeconfigOf(t, server), "--run", "r1")
	if err != nil || !strings.Contains(said, "brought back product") {
		t.Fatalf("%v\n%s", err, said)
	}
	if diff := cmp.Diff([]string{"deployments system/control", "pods a/others"}, server.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var writes []string
	for _, r := range server.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			writes = append(writes, r)
		}
	}
	want := []string{"DELETE /api/v1/namespaces/a/pods/runner", "PATCH /apis/apps/v1/namespaces/system/deployments/control", "DELETE /api/v1/namespaces/a/configmaps/parked-product"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	w, err := kube.GetWorkload(t.Context(), c, kube.WorkloadRef{Kind: "Deployment", Namespace: "system", Name: "control"})
	if err != nil || w.Replicas() != 3 {
		t.Errorf("%d replicas, %v", w.Replicas(), err)
	}
}

func kubeconfigOf(t *testing.T, server *fakeapi.Server) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestNoCluster(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", t.TempDir())
	_, said, err := clean(t)
	if err != nil || !strings.Contains(said, "there is no local cluster gatemark: nothing to clean") {
		t.Errorf("%q, %v", said, err)
	}
}
