package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
)

// TestIstiosCharts holds Istio's two charts to its data: with official images,
// and with those that are built here.
func TestIstiosCharts(t *testing.T) {
	impl, err := implementation.Find("istio")
	must(t, err)
	in := describe(impl)
	istiod := func() *appsv1.Deployment {
		objects := rendered(t, impl, in.Values)
		if objects["CustomResourceDefinition virtualservices.networking.istio.io"] == nil {
			t.Error("the first chart's definitions are missing")
		}
		var deployment appsv1.Deployment
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects["Deployment istiod"].Object, &deployment))
		for key, value := range impl.ControlPlane.Selector {
			if deployment.Spec.Template.Labels[key] != value {
				t.Errorf("its pods have %v, the selector asks for %s=%s", deployment.Spec.Template.Labels, key, value)
			}
		}
		return &deployment
	}
	container := istiod().Spec.Template.Spec.Containers[0]
	if container.Name != impl.Images[0].Containers[0] || container.Image != impl.Images[0].Official || in.Title != "Istio" {
		t.Errorf("%s: container %s runs %s", in.Title, container.Name, container.Image)
	}

	for _, img := range impl.Images {
		if img.WhenBuilt != nil {
			in.built(*img.WhenBuilt)
		}
		must(t, setImage(in.Values, img.Values, "gatemark.local/"+img.Role+":v1"))
	}
	container = istiod().Spec.Template.Spec.Containers[0]
	if container.Image != "gatemark.local/control-plane:v1" {
		t.Errorf("istiod runs %s", container.Image)
	}
	env := map[string]string{}
	for _, v := range container.Env {
		env[v.Name] = v.Value
	}
	for _, name := range []string{"PILOT_ENABLE_METADATA_EXCHANGE", "PILOT_ENABLE_ALPN_FILTER"} {
		if env[name] != "false" {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	if in.Title != "Istio control plane with stock Envoy" || len(in.Deviations) != 4 {
		t.Errorf("title %q, deviations %v", in.Title, in.Deviations)
	}
	proxy, _, err := unstructured.NestedString(in.Values, "global", "proxy", "image")
	must(t, err)
	if diff := cmp.Diff("gatemark.local/data-plane:v1", proxy); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyWhatIsBuiltHereIsSaidToBe: official images leave the title and the
// values alone.
func TestOnlyWhatIsBuiltHereIsSaidToBe(t *testing.T) {
	for origin, title := range map[image.Origin]string{image.Official: "Istio", image.Source: "Istio control plane with stock Envoy"} {
		impl, err := implementation.Find("istio")
		must(t, err)
		in := &installation{Installer: &Installer{}, impl: impl, installed: describe(impl)}
		for _, img := range impl.Images {
			in.use(img, image.Image{Ref: "it", Origin: origin})
		}
		if in.installed.Title != title {
			t.Errorf("%s: title %q", origin, in.installed.Title)
		}
	}
}
