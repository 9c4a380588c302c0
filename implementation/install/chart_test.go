package install

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
)

func envoyGateway(t *testing.T, variant string) *implementation.Implementation {
	t.Helper()
	impl, err := implementation.Find("envoy-gateway")
	must(t, err)
	impl, err = impl.WithVariant(variant)
	must(t, err)
	return impl
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rendered are the chart's objects by kind and name.
func rendered(t *testing.T, impl *implementation.Implementation, values map[string]any) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := Render(t.Context(), impl, values)
	must(t, err)
	objects, err := kube.Decode(strings.NewReader(text))
	must(t, err)
	byName := map[string]*unstructured.Unstructured{}
	for _, obj := range objects {
		byName[obj.GetKind()+" "+obj.GetName()] = obj
	}
	return byName
}

// imagesIn collects every value of a key that names an image.
func imagesIn(value any, found map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			imagesIn(each, found)
		}
	case map[string]any:
		for key, each := range v {
			if text, ok := each.(string); ok && key == "image" {
				found[text] = true
			}
			imagesIn(each, found)
		}
	}
}

func imagesOf(t *testing.T, objects map[string]*unstructured.Unstructured) []string {
	t.Helper()
	found := map[string]bool{}
	for _, obj := range objects {
		imagesIn(obj.Object, found)
	}
	imagesIn(configOf(t, objects), found)
	var sorted []string
	for name := range found {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return sorted
}

// configOf is Envoy Gateway's own configuration.
func configOf(t *testing.T, objects map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	config := objects["ConfigMap envoy-gateway-config"]
	if config == nil {
		t.Fatal("no ConfigMap envoy-gateway-config")
	}
	text, _, err := unstructured.NestedString(config.Object, "data", "envoy-gateway.yaml")
	must(t, err)
	var out map[string]any
	must(t, yaml.Unmarshal([]byte(text), &out))
	return out
}

func TestOurImagesAreAllThatDiffersFromUpstream(t *testing.T) {
	impl := envoyGateway(t, "")
	upstream := rendered(t, impl, impl.Values())
	values := impl.Values()
	for _, img := range impl.Images {
		must(t, setImage(values, img.Values, "gatemark.local/"+img.Role+":v1-abc"))
	}
	ours := rendered(t, impl, values)

	// The proxy's image is built into Envoy Gateway; the chart names it only
	// where it is set.
	official := []string{"%/envoyproxy/ratelimit", "envoyproxy/gateway:" + impl.Version}
	got := imagesOf(t, upstream)
	if len(got) != 2 || !strings.Contains(got[0], "/envoyproxy/ratelimit:") || got[1] != official[1] {
		t.Errorf("upstream's images: %v", got)
	}
	want := []string{got[0], "gatemark.local/control-plane:v1-abc", "gatemark.local/data-plane:v1-abc"}
	if diff := cmp.Diff(want, imagesOf(t, ours)); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}

	container := configOf(t, ours)["envoyProxy"].(map[string]any)["provider"].(map[string]any)["kubernetes"].(map[string]any)["envoyDeployment"].(map[string]any)["container"]
	if diff := cmp.Diff(map[string]any{"image": "gatemark.local/data-plane:v1-abc"}, container); diff != "" {
		t.Errorf("the proxy's container (-want +got):\n%s", diff)
	}
	for name, obj := range upstream {
		text := func(o *unstructured.Unstructured) string {
			data, err := yaml.Marshal(o.Object)
			must(t, err)
			return string(data)
		}
		if ours[name] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		back := strings.ReplaceAll(text(ours[name]), "gatemark.local/control-plane:v1-abc", official[1])
		if name == "ConfigMap envoy-gateway-config" {
			config := configOf(t, ours)
			delete(config, "envoyProxy")
			data, err := yaml.Marshal(config)
			must(t, err)
			back = strings.ReplaceAll(string(data), "gatemark.local/control-plane:v1-abc", official[1])
			want, err := yaml.Marshal(configOf(t, upstream))
			must(t, err)
			if diff := cmp.Diff(string(want), back); diff != "" {
				t.Errorf("%s (-upstream +ours):\n%s", name, diff)
			}
			continue
		}
		if diff := cmp.Diff(text(obj), back); diff != "" {
			t.Errorf("%s (-upstream +ours):\n%s", name, diff)
		}
	}
	if len(ours) != len(upstream) {
		t.Errorf("%d objects, upstream has %d", len(ours), len(upstream))
	}
}

func TestGatewayNamespaceMode(t *testing.T) {
	for variant, want := range map[string]any{"": nil, "gateway-namespace": "GatewayNamespace"} {
		impl := envoyGateway(t, variant)
		config := configOf(t, rendered(t, impl, impl.Values()))
		got, _, err := unstructured.NestedFieldNoCopy(config, "provider", "kubernetes", "deploy", "type")
		must(t, err)
		if got != want {
			t.Errorf("variant %q: deploy.type is %v, want %v", variant, got, want)
		}
	}
}

func TestChartVersionsAreTheReleases(t *testing.T) {
	impl := envoyGateway(t, "")
	deployment := rendered(t, impl, impl.Values())["Deployment envoy-gateway"]
	if deployment == nil {
		t.Fatal("no Deployment envoy-gateway")
	}
	labels := deployment.GetLabels()
	if labels["helm.sh/chart"] != "gateway-helm-"+impl.Version || labels["app.kubernetes.io/version"] != impl.Version {
		t.Errorf("labels %v", labels)
	}
	// The data promises these to whoever looks for the control plane.
	pods, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	must(t, err)
	for key, value := range impl.ControlPlane.Selector {
		if pods[key] != value {
			t.Errorf("the control plane's pods have %s=%q, the selector asks for %q", key, pods[key], value)
		}
	}
}

func TestEnvoyGatewaysOwnDefinitionsOnly(t *testing.T) {
	in := &installation{Installer: &Installer{}, impl: envoyGateway(t, ""), installed: &Installed{}}
	releases, err := in.loadCharts(t.Context())
	must(t, err)
	definitions, err := ownDefinitions(releases[0].Chart)
	must(t, err)
	if len(definitions) == 0 {
		t.Fatal("none")
	}
	for _, crd := range definitions {
		if group := groupOf(crd); group != "gateway.envoyproxy.io" {
			t.Errorf("%s is of the group %s", crd.GetName(), group)
		}
	}
	if in.installed.Chart.ModuleSum == "" || in.installed.Chart.Version != in.impl.Version {
		t.Errorf("chart %+v", in.installed.Chart)
	}
}

func TestGatewayAPIObjects(t *testing.T) {
	want := envoyGateway(t, "").GatewayAPI
	objects, err := gatewayAPIObjects(t.Context(), want)
	must(t, err)
	kinds := map[string]int{}
	for n, obj := range objects {
		kinds[obj.GetKind()]++
		if got := obj.GetAnnotations()["gateway.networking.k8s.io/bundle-version"]; got != want.Version {
			t.Errorf("%s is of bundle %q", obj.GetName(), got)
		}
		if obj.GetKind() != "CustomResourceDefinition" && n < kinds["CustomResourceDefinition"] {
			t.Errorf("%s comes before a definition", obj.GetName())
		}
	}
	if kinds["CustomResourceDefinition"] < 8 || kinds["ValidatingAdmissionPolicy"] != 1 || kinds["ValidatingAdmissionPolicyBinding"] != 1 {
		t.Errorf("kinds %v", kinds)
	}
	want.Channel = "nightly"
	if _, err := gatewayAPIObjects(t.Context(), want); err == nil || !strings.Contains(err.Error(), "nightly") {
		t.Errorf("error %v", err)
	}
}

func TestFillIn(t *testing.T) {
	for _, c := range []struct {
		name, template string
		placeholders   map[string]string
		want, problem  string
	}{
		{name: "filled", template: "image: ${Image}\nliteral: $Image $${\n", placeholders: map[string]string{"Image": "a:b"}, want: "image: a:b\nliteral: $Image $${\n"},
		{name: "one too many asked for", template: "a: ${A}\nb: ${B}\n", placeholders: map[string]string{"A": ""}, problem: "asks for B"},
		{name: "one too many given", template: "a: ${A}\n", placeholders: map[string]string{"A": "", "B": ""}, problem: "does not ask for B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "values.tmpl.yaml"), []byte(c.template), 0o644))
			err := fillIn(dir, implementation.Chart{ValuesTemplate: "values.tmpl.yaml", Placeholders: c.placeholders})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("error %v, want one with %q", err, c.problem)
				}
				return
			}
			must(t, err)
			got, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
			must(t, err)
			if string(got) != c.want {
				t.Errorf("values %q, want %q", got, c.want)
			}
		})
	}
}

func TestSetImage(t *testing.T) {
	values := map[string]any{"a": map[string]any{"kept": true}, "list": []any{}}
	paths := []implementation.ImageValue{{Path: "a.image"}, {Path: "b.c.repository", Part: "repository"}, {Path: "tag", Part: "tag"}}
	must(t, setImage(values, paths, "localhost:5000/a/b:v1"))
	want := map[string]any{
		"a":    map[string]any{"kept": true, "image": "localhost:5000/a/b:v1"},
		"b":    map[string]any{"c": map[string]any{"repository": "localhost:5000/a/b"}},
		"tag":  "v1",
		"list": []any{},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if err := set(values, "list.image", "x"); err == nil {
		t.Error("no error where a list stands in the way")
	}
}

func TestEveryObjectGetsOurLabels(t *testing.T) {
	in := bytes.NewBufferString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: z}}\n---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n")
	out, err := labeller{"k": "v"}.Run(in)
	must(t, err)
	objects, err := kube.Decode(out)
	must(t, err)
	if len(objects) != 2 {
		t.Fatalf("%d objects", len(objects))
	}
	if diff := cmp.Diff(map[string]string{"x": "z", "k": "v"}, objects[0].GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if objects[1].GetLabels()["k"] != "v" {
		t.Errorf("labels %v", objects[1].GetLabels())
	}
}
