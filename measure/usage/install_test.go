package usage

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatemark/gatemark/kube"
)

// TestTheSamplersPod can read its node's folders, and do nothing else.
func TestTheSamplersPod(t *testing.T) {
	objects, err := Samplers{Namespace: "run", Run: "r1", Image: "gatemark:1", Secret: "runner", Interval: 100 * time.Millisecond}.objects()
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || !kube.Owned(objects[0]) {
		t.Fatalf("objects %v", objects)
	}
	var d appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &d); err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	container := spec.Containers[0]
	security := container.SecurityContext
	if *spec.AutomountServiceAccountToken || spec.HostPID || spec.HostNetwork || !*spec.SecurityContext.RunAsNonRoot || *spec.SecurityContext.RunAsUser == 0 {
		t.Errorf("spec %+v", spec)
	}
	if *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem || security.Privileged != nil ||
		len(security.Capabilities.Add) != 0 || security.Capabilities.Drop[0] != "ALL" {
		t.Errorf("security context %+v", security)
	}
	for _, m := range container.VolumeMounts {
		if !m.ReadOnly || m.RecursiveReadOnly == nil {
			t.Errorf("mount %+v", m)
		}
	}
	if len(spec.Tolerations) != 1 || spec.Tolerations[0].Operator != "Exists" || spec.Tolerations[0].Key != "" {
		t.Errorf("tolerations %+v", spec.Tolerations)
	}
	if args := strings.Join(container.Args, " "); !strings.Contains(args, "--interval 100ms") || strings.Contains(args, "secret") {
		t.Errorf("arguments %s", args)
	}
	labels := d.Spec.Template.Labels
	if labels["app"] != SamplerName || labels[kube.OwnerLabel] != kube.Owner || labels[kube.RunLabel] != "r1" {
		t.Errorf("labels of its pods %v", labels)
	}
}
