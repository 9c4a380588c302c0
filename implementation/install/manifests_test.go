package install

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
)

const publishedManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: control, namespace: system}
spec:
  selector: {matchLabels: {app: control}}
  template:
    metadata: {labels: {app: control}}
    spec:
      initContainers:
      - {name: prepare, image: "vendor/prepare:v1"}
      containers:
      - name: control-plane
        image: vendor/control:v1
        args: [serve, "--greeting={{ hello }}"]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: other}
data: {text: "{{ .Values.not }} a template"}
`

const publishedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.vendor.test}
spec:
  group: vendor.test
  names: {kind: Thing, plural: things}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: "in {{braces}}"}}}]
`

func vendored() (fstest.MapFS, *implementation.Implementation) {
	files := fstest.MapFS{
		"examples/crds.yaml":      {Data: []byte(publishedDefinition)},
		"examples/plane/all.yaml": {Data: []byte(publishedManifests)},
	}
	return files, &implementation.Implementation{
		Name: "vendor", Title: "Vendor", Version: "v1.2.3",
		Chart:   implementation.Chart{Manifests: []string{"examples/crds.yaml", "examples/plane/*.yaml"}},
		Release: implementation.Release{Name: "vendor", Namespace: "system"},
	}
}

// packed packs and renders the manifests with values set.
func packed(t *testing.T, values map[string]any) (map[string]string, *appsv1.Deployment) {
	t.Helper()
	files, impl := vendored()
	c, err := packManifests(files, impl)
	must(t, err)
	text, err := render(t.Context(), c, impl.Release, values)
	must(t, err)
	objects, err := kube.Decode(strings.NewReader(text))
	must(t, err)
	all := map[string]string{}
	var deployment appsv1.Deployment
	for _, o := range objects {
		data, err := json.Marshal(o.Object)
		must(t, err)
		all[o.GetKind()+" "+o.GetName()] = string(data)
		if o.GetKind() == "Deployment" {
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &deployment))
		}
	}
	return all, &deployment
}

func TestManifestsAreInstalledAsTheyWerePublished(t *testing.T) {
	all, deployment := packed(t, nil)
	if len(all) != 2 { // not the definition, and not the release's own namespace
		t.Errorf("%d objects: %v", len(all), all)
	}
	if !strings.Contains(all["ConfigMap words"], "{{ .Values.not }} a template") {
		t.Errorf("the ConfigMap is %s", all["ConfigMap words"])
	}
	spec := deployment.Spec.Template.Spec
	if got := spec.InitContainers[0]; got.Image != "vendor/prepare:v1" || got.Args != nil {
		t.Errorf("init container %+v", got)
	}
	if got := spec.Containers[0]; got.Image != "vendor/control:v1" || !cmp.Equal(got.Args, []string{"serve", "--greeting={{ hello }}"}) {
		t.Errorf("container %+v", got)
	}
}

func TestManifestsTakeImagesAndFlags(t *testing.T) {
	values := map[string]any{}
	must(t, setImage(values, []implementation.ImageValue{{Path: "control-plane.image"}, {Path: "control-plane.flags.control-image"}, {Path: "prepare.image"}}, "ours:1"))
	must(t, setImage(values, []implementation.ImageValue{{Path: "control-plane.flags.proxy-image"}}, "proxy:1"))
	_, deployment := packed(t, values)
	spec := deployment.Spec.Template.Spec
	if spec.InitContainers[0].Image != "ours:1" || spec.Containers[0].Image != "ours:1" {
		t.Errorf("images %s and %s", spec.InitContainers[0].Image, spec.Containers[0].Image)
	}
	want := []string{"serve", "--greeting={{ hello }}", "--control-image=ours:1", "--proxy-image=proxy:1"}
	if diff := cmp.Diff(want, spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestValuesThatTheManifestsDoNotHaveAreRefused(t *testing.T) {
	files, impl := vendored()
	for path, want := range map[string]string{"controlplane.image": "controlplane", "prepare.flags.x": "flags", "control-plane.tag": "tag"} {
		c, err := packManifests(files, impl)
		must(t, err)
		values := map[string]any{}
		must(t, set(values, path, "v"))
		if _, err := render(t.Context(), c, impl.Release, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("value %s: %v", path, err)
		}
	}
}

func TestDefinitionsAmongManifestsAreAppliedFirst(t *testing.T) {
	files, impl := vendored()
	c, err := packManifests(files, impl)
	must(t, err)
	definitions, err := ownDefinitions(c)
	must(t, err)
	if len(definitions) != 1 || definitions[0].GetName() != "things.vendor.test" {
		t.Errorf("definitions %v", definitions)
	}
	if c.Name() != "vendor" || c.Metadata.Version != "v1.2.3" {
		t.Errorf("chart %s %s", c.Name(), c.Metadata.Version)
	}
}

func TestManifestsThatAreNotThereOrBroken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(fstest.MapFS, *implementation.Implementation)
		want   string
	}{
		"no such file": {func(_ fstest.MapFS, i *implementation.Implementation) {
			i.Chart.Manifests = []string{"examples/none-*.yaml"}
		}, "there is no file examples/none-*.yaml"},
		"not YAML": {func(f fstest.MapFS, _ *implementation.Implementation) { f["examples/crds.yaml"].Data = []byte("a: [b") }, "examples/crds.yaml"},
		"a container twice": {func(f fstest.MapFS, _ *implementation.Implementation) {
			f["examples/plane/more.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(publishedManifests, "{name: control,", "{name: another,", 1))}
		}, "is there twice"},
	} {
		files, impl := vendored()
		c.change(files, impl)
		if _, err := packManifests(files, impl); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAChartNamesIsTheOfficialImage(t *testing.T) {
	values := map[string]any{"control-plane": map[string]any{"image": "vendor/control:v1", "flags": map[string]any{}}, "tag": "v1"}
	for path, want := range map[string]string{"control-plane.image": "vendor/control:v1", "control-plane.flags.image": "", "none.image": "", "tag": "v1"} {
		if got := published(values, []implementation.ImageValue{{Path: path}}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := published(values, []implementation.ImageValue{{Path: "tag", Part: "tag"}}); got != "" {
		t.Errorf("a tag alone is an image: %q", got)
	}
}
