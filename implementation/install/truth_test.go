package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatemark/gatemark/implementation"
)

// TestTruthsChart lies in truth's own folder, unlike those of products.
func TestTruthsChart(t *testing.T) {
	impl, err := implementation.Find("truth")
	must(t, err)
	values := impl.Values()
	must(t, setImage(values, impl.Images[0].Values, "control:1"))
	must(t, setImage(values, impl.Images[1].Values, "data:1"))
	values["faults"] = map[string]any{"errorEvery": 7}
	objects := rendered(t, impl, values)
	var deployment appsv1.Deployment
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects["Deployment truth"].Object, &deployment))
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Name != impl.Images[0].Containers[0] || container.Image != "control:1" {
		t.Errorf("container %s runs %s", container.Name, container.Image)
	}
	want := `truth control --image=data:1 --replicas=2 --url=http://truth.truth-system:8088 --faults {"errorEvery":7}`
	if got := strings.Join(container.Args, " "); got != want {
		t.Errorf("it runs %s, want %s", got, want)
	}
	for key, value := range impl.ControlPlane.Selector {
		if deployment.Spec.Template.Labels[key] != value {
			t.Errorf("its pods have %v, the selector asks for %s=%s", deployment.Spec.Template.Labels, key, value)
		}
	}
}
