package run

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/broken"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/plan"
)

// folder writes a description of Envoy Gateway, broken as the case has it.
func folder(t *testing.T, c broken.Case) string {
	t.Helper()
	files, err := c.Break(os.DirFS("../../../implementation/envoygateway"))
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
	return dir
}

var renamed = broken.Case{Edits: map[string]string{"name: envoy-gateway\n": "name: mine\n"}}

func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := New(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &said})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAFolderWorksWhereANameDoes(t *testing.T) {
	dir := folder(t, renamed)
	out, err := command(t, "--dry-run", "--implementation", dir+"#2", "--implementation", dir)
	if err == nil || !strings.Contains(err.Error(), "there is no mine before it") {
		t.Errorf("a copy before the original: %v", err)
	}
	out, err = command(t, "--dry-run", "--implementation", dir, "--scenario", "attached-routes")
	if err != nil || !strings.Contains(out, "name: mine") || !strings.Contains(out, "b01-attached-routes-mine\n") {
		t.Errorf("error %v\n%s", err, out)
	}
	// In a plan it is relative to the plan's file.
	file := filepath.Join(filepath.Dir(dir), "plan.yaml")
	text := "apiVersion: gatemark.dev/v1\nkind: Plan\nimplementations: [{name: ./" + filepath.Base(dir) + ", variant: gateway-namespace}]\nscenarios: [{name: attached-routes}]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = command(t, "--dry-run", "--plan", file)
	if err != nil || !strings.Contains(out, "b01-attached-routes-mine-gateway-namespace\n") || !strings.Contains(out, "folder: "+dir) {
		t.Errorf("error %v\n%s", err, out)
	}
	if _, err := command(t, "--dry-run", "--implementation", "./there-is-none"); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), "there-is-none: no implementation") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestNothingIsInstalledFromABrokenFolder: every problem is named, the exit
// code is 2, and the cluster is not even asked.
func TestNothingIsInstalledFromABrokenFolder(t *testing.T) {
	server := fakeapi.Start(t)
	kubeconfig := kubeconfigOf(t, server)
	cases := broken.Cases()
	if len(cases) < 30 {
		t.Errorf("only %d broken folders", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			_, err := command(t, "--kubeconfig", kubeconfig, "--yes", "--implementation", folder(t, c), "--output-dir", t.TempDir())
			if failure.CodeOf(err) != failure.Usage {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.Want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not named in:\n%v", want, err)
				}
			}
		})
	}
	if asked := server.Requests(); len(asked) > 0 {
		t.Errorf("the cluster was asked: %q", asked)
	}
}

func kubeconfigOf(t *testing.T, server *fakeapi.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersionsThatCannotBe(t *testing.T) {
	for args, want := range map[string]string{
		"envoy-gateway@newest":                           `"newest" is neither a version such as v1.2.3 nor a commit`,
		"contour,contour@v1.33.7":                        "a cluster has room for one contour",
		"envoy-gateway=/nowhere":                         "checkout /nowhere: open /nowhere/go.mod",
		"envoy-gateway@v1.9.0,envoy-gateway@v1.9.0":      "stands at implementations[0] already",
		"envoy-gateway@v1.9.0#2":                         "there is no envoy-gateway@v1.9.0 before it",
		"class/a,class/a":                                "class/a stands at implementations[0] already",
		"envoy-gateway@v1.9.0/gateway-namespaces":        "did you mean gateway-namespace?",
		"envoy-gateway,envoy-gateway#2,envoy-gateway#10": "10 is not between 2 and 9",
	} {
		_, err := command(t, "--dry-run", "--implementation", args)
		if failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if _, err := command(t, "--dry-run", "--implementation", "envoy-gateway,contour", "--address", "10.0.0.1"); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), "--address") {
		t.Errorf("one address for two: %v", err)
	}
}

func TestOfSeveralVersionsTheNewestIsInstalledFirst(t *testing.T) {
	at := func(text, version string) *subject {
		return &subject{Treatment: plan.ParseTreatment(text, implementation.IsFolder), impl: &implementation.Implementation{Version: version}}
	}
	all := []*subject{at("a@v1.9.0", "v1.9.0"), at("b", "v0.1.0"), at("a", "v1.10.0"), at("a@v1.9.1/v", "v1.9.1"), at("a=../x", "v1.10.0")}
	var got, labels []string
	for _, s := range newestFirst(all) {
		got, labels = append(got, s.String()), append(labels, besideLabel(s))
	}
	if diff := cmp.Diff([]string{"a=x", "b", "a", "a@v1.9.1/v", "a@v1.9.0"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "v0-1-0", "v1-10-0", "v1-9-1-v", "v1-9-0"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// occupied is a cluster with GatewayClasses, and a control plane of Envoy
// Gateway in a namespace of somebody's choice.
func occupied(t *testing.T, classes map[string]string) *conductor {
	t.Helper()
	core := corev1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Secret"), Name: "secrets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("GatewayClass"), Name: "gatewayclasses"},
	)
	for name, controller := range classes {
		server.Put(t, &gatewayv1.GatewayClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "GatewayClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)},
		})
	}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.Labels = "theirs", "eg", map[string]string{"control-plane": "envoy-gateway"}
	pod.Spec.Containers = []corev1.Container{{Name: "envoy-gateway", Image: "docker.io/envoyproxy/gateway:v1.8.0"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "envoy-gateway", ImageID: "docker.io/envoyproxy/gateway@sha256:abc"}}
	server.Put(t, pod)
	client, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &conductor{kube: client, progress: progress.New(&bytes.Buffer{})}
}

const controllerOfEG = "gateway.envoyproxy.io/gatewayclass-controller"

func TestWhatSomebodyElseInstalledIsFoundByItsClass(t *testing.T) {
	for _, c := range []struct {
		asked   string
		classes map[string]string
		class   string // of what is found; "" for nothing
		fails   string
	}{
		{asked: "envoy-gateway", classes: nil},
		{asked: "envoy-gateway", classes: map[string]string{"x": "example.org/x"}},
		{asked: "envoy-gateway", classes: map[string]string{"prod": controllerOfEG}, class: "prod"},
		{asked: "envoy-gateway/gateway-namespace", classes: map[string]string{"prod": controllerOfEG}, class: "prod"},
		{asked: "envoy-gateway@v1.8.0", classes: map[string]string{"prod": controllerOfEG}, class: "prod"},
		{asked: "envoy-gateway@v1.9.0", classes: map[string]string{"prod": controllerOfEG}, fails: "in version v1.8.0, by GatewayClass prod"},
		{asked: "envoy-gateway", classes: map[string]string{"a": controllerOfEG, "b": controllerOfEG}, fails: "several GatewayClasses"},
		{asked: "class/b", classes: map[string]string{"a": controllerOfEG, "b": controllerOfEG}, class: "b"},
		{asked: "class/x", classes: map[string]string{"x": "example.org/x"}, class: "x"},
		{asked: "class/y", classes: map[string]string{"x": "example.org/x"}, fails: "the cluster has no GatewayClass y"},
	} {
		d := occupied(t, c.classes)
		d.plan = &plan.Plan{Implementations: []plan.Treatment{plan.ParseTreatment(c.asked, implementation.IsFolder)}}
		err := d.findSubjects(t.Context())
		if c.fails != "" || err != nil {
			if c.fails == "" || err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s in %v: error %v, want %q", c.asked, c.classes, err, c.fails)
			}
			continue
		}
		s := d.subjects[0]
		if c.class == "" {
			if s.found != nil {
				t.Errorf("%s in %v: found %+v", c.asked, c.classes, s.found)
			}
			continue
		}
		if s.found == nil || s.found.Class != c.class || s.impl.GatewayClass.Name != c.class {
			t.Errorf("%s in %v: found %+v, class %s", c.asked, c.classes, s.found, s.impl.GatewayClass.Name)
			continue
		}
		if s.unknown {
			continue
		}
		described := describeFound(s.impl, s.found)
		if s.impl.ControlPlane.Namespace != "theirs" || described.Version != "v1.8.0" || described.Installed || described.Images[0].Digest != "sha256:abc" || len(described.Deviations) != 1 {
			t.Errorf("%s: control plane in %s, result %+v", c.asked, s.impl.ControlPlane.Namespace, described)
		}
	}
}

func TestAClassWithoutDataIsMeasuredByItsGateways(t *testing.T) {
	d := occupied(t, map[string]string{"x": "example.org/x"})
	treatment := plan.Treatment{GatewayClass: "x", Address: "{{.Name}}.{{.Namespace}}.svc"}
	d.plan = &plan.Plan{Implementations: []plan.Treatment{treatment}}
	if err := d.findSubjects(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.run = newRun()
	targets, err := d.targets()
	if err != nil {
		t.Fatal(err)
	}
	target := targets["class/x"]
	if !target.Unknown || target.GatewayClass != "x" || target.ControllerName != "example.org/x" || target.Address != treatment.Address {
		t.Errorf("target %+v", target)
	}
	if got := d.run.Implementations["class/x"]; len(got.Quirks) != 2 || got.Installed {
		t.Errorf("result %+v", got)
	}
}
