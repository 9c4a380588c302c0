package install

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

// installationOn is one on an API server in memory.
func installationOn(t *testing.T, deadline time.Duration) (*installation, *fakeapi.Server) {
	t.Helper()
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "deployments", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
	)
	client, err := kube.New(t.Context(), server.Config())
	must(t, err)
	impl := envoyGateway(t, "")
	return &installation{Installer: &Installer{Deadline: deadline}, impl: impl, client: client, installed: describe(impl)}, server
}

func deployment(available int32) *appsv1.Deployment {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	d.Namespace, d.Name = "envoy-gateway-system", "envoy-gateway"
	d.Generation, d.Status.ObservedGeneration = 1, 1
	d.Status.AvailableReplicas, d.Status.UpdatedReplicas = available, 1
	return d
}

func TestAControlPlaneThatDoesNotComeUpIsToldInItsPodsWords(t *testing.T) {
	in, server := installationOn(t, 300*time.Millisecond)
	server.Put(t, deployment(0))
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.Labels = "envoy-gateway-system", "envoy-gateway-x", in.impl.ControlPlane.Selector
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "envoy-gateway", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such host"},
	}}}
	server.Put(t, pod)
	other := pod.DeepCopy()
	other.Name, other.Labels = "other", nil
	server.Put(t, other)

	err := in.awaitControlPlane(t.Context(), func(string, ...any) {})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"waiting for deployment envoy-gateway-system/envoy-gateway: 0 of 1 available after",
		"; pod envoy-gateway-x: container envoy-gateway: ErrImagePull: no such host",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "other") {
		t.Errorf("a pod of others is blamed: %v", err)
	}
}

func TestAControlPlaneThatIsAvailableIsNotWaitedFor(t *testing.T) {
	in, server := installationOn(t, time.Minute)
	server.Put(t, deployment(1))
	var said string
	must(t, in.awaitControlPlane(t.Context(), func(format string, args ...any) { said = args[1].(string) }))
	if said != "1 of 1 available" {
		t.Errorf("progress %q", said)
	}
}

func TestTheClassNamesItsParameters(t *testing.T) {
	impl := *envoyGateway(t, "")
	impl.GatewayClass.Parameters = map[string]any{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyProxy",
		"metadata": map[string]any{"name": "p", "namespace": "n"},
	}
	objects := classObjects(&installation{impl: &impl})
	if len(objects) != 2 || objects[0].GetKind() != "EnvoyProxy" || objects[1].GetKind() != "GatewayClass" {
		t.Fatalf("objects %v", objects)
	}
	spec := objects[1].Object["spec"].(map[string]any)
	want := map[string]any{"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "p", "namespace": "n"}
	if got := spec["parametersRef"].(map[string]any); len(got) != 4 || got["group"] != want["group"] || got["kind"] != want["kind"] || got["name"] != "p" || got["namespace"] != "n" {
		t.Errorf("parametersRef %v, want %v", got, want)
	}
}
