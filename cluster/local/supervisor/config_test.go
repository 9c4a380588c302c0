package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func settings(t *testing.T, full bool) handshake.Settings {
	t.Helper()
	state := t.TempDir()
	dir := layout.Of(state, "some")
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	return handshake.Settings{Name: "some", Dir: string(dir), NodeDir: "/node", Full: full, Port: 12345, StateDir: state}
}

func TestEveryFileIsFilledIn(t *testing.T) {
	s := settings(t, true)
	v := newValues(s, "overlayfs")
	v.CABundle = "Y2E="
	entries, err := files.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 10 {
		t.Fatalf("only %d files are embedded", len(entries))
	}
	for _, e := range entries {
		text, err := render(e.Name(), v)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), "{{") || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s is not filled in:\n%s", e.Name(), text)
		}
		checkSyntax(t, e.Name(), text)
	}
}

func checkSyntax(t *testing.T, name string, text []byte) {
	t.Helper()
	var any any
	switch filepath.Ext(name) {
	case ".conflist":
		if err := json.Unmarshal(text, &any); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	case ".yaml":
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			if err := yaml.UnmarshalStrict([]byte(doc), &any); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestManifestsAreKnown(t *testing.T) {
	v := newValues(settings(t, true), "overlayfs")
	var paths []string
	for _, name := range []string{"dns.yaml", "metrics.yaml", "metrics-api.yaml"} {
		text, err := render(name, v)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			path, err := collectionPath([]byte(doc))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			paths = append(paths, path)
		}
	}
	for _, want := range []string{
		"/api/v1/namespaces/kube-system/services",
		"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/apiregistration.k8s.io/v1/apiservices",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("no object is created at %s, only at %v", want, paths)
		}
	}
	if _, err := collectionPath([]byte("apiVersion: v1\nkind: Strange\n")); err == nil {
		t.Error("an unknown kind has a path")
	}
}

func TestConfigOfAControlPlane(t *testing.T) {
	s := settings(t, false)
	if err := writeConfig(s, newValues(s, "")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(s.Dir, "config", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(s.Dir, "config", "audit-policy.yaml")}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every file that a component's command line names is written.
func TestCommandLinesNameFilesThatAreThere(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := settings(t, full)
		if err := writeConfig(s, newValues(s, "overlayfs")); err != nil {
			t.Fatal(err)
		}
		if _, err := writeCredentials(s); err != nil {
			t.Fatal(err)
		}
		p := newPrograms(s)
		parts := []component{p.etcd(), p.apiServer(), p.controllerManager()}
		if full {
			parts = append(parts, p.scheduler(), p.containerd(), p.kubelet(), p.proxy(), p.coreDNS(), p.metricsServer())
		}
		for _, c := range parts {
			if c.argv[0] != c.name {
				t.Errorf("%s is called as %s", c.name, c.argv[0])
			}
			for _, arg := range c.argv[1:] {
				_, file, _ := strings.Cut(arg, "=")
				if !strings.HasPrefix(file, s.Dir+"/pki/") && !strings.HasPrefix(file, s.Dir+"/config/") {
					continue
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s is told %s: %v", c.name, arg, err)
				}
			}
		}
	}
}

func TestKubeconfigs(t *testing.T) {
	s := settings(t, true)
	if _, err := writeCredentials(s); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", layout.Dir(s.Dir).Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:12345" || len(config.CAData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("the host's kubeconfig is for %s, with %d bytes of CA and %d of key", config.Host, len(config.CAData), len(config.KeyData))
	}
	info, err := os.Stat(layout.Dir(s.Dir).Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the administrator's key: mode %s", info.Mode())
	}
}
