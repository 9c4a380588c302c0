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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
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
	server := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true})
	server.Put(t, configMap("one", "r1", nil))
	server.Put(t, configMap("two", "r2", nil))
	server.Put(t, configMap("part", "r1", map[string]string{install.PartLabel: "envoy-gateway"}))
	server.Put(t, configMap("theirs", "", nil))
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, err := clean(t, "--kubeconfig", kubeconfig, "--run", "r1", "--output", "json")
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

func TestNoCluster(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", t.TempDir())
	_, said, err := clean(t)
	if err != nil || !strings.Contains(said, "there is no local cluster gatemark: nothing to clean") {
		t.Errorf("%q, %v", said, err)
	}
}
