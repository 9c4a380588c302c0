package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatemark/gatemark/implementation"
)

// TestTraefiksChart lies in the implementation's folder, and has both planes in
// one container.
func TestTraefiksChart(t *testing.T) {
	impl, err := implementation.Find("traefik")
	must(t, err)
	values := impl.Values()
	must(t, setImage(values, impl.Images[0].Values, "ours:1"))
	objects := rendered(t, impl, values)
	var deployment appsv1.Deployment
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects["Deployment traefik"].Object, &deployment))
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Name != impl.Images[0].Containers[0] || container.Name != impl.DataPlane.Container || container.Image != "ours:1" {
		t.Errorf("container %s runs %s", container.Name, container.Image)
	}
	args := strings.Join(container.Args, " ")
	for _, want := range []string{
		"--entryPoints.web.address=:80 --entryPoints.websecure.address=:443",
		"--providers.kubernetesgateway.statusaddress.service.namespace=traefik",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is not in %s", want, args)
		}
	}
	for key, value := range impl.ControlPlane.Selector {
		if deployment.Spec.Template.Labels[key] != value || impl.DataPlane.Selector[key] != value {
			t.Errorf("its pods have %v, the selectors ask for %s=%s and %v", deployment.Spec.Template.Labels, key, value, impl.DataPlane.Selector)
		}
	}
}
