package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/result"
)

// strangers is a trial of an implementation that nothing is known of.
func strangers(t *testing.T) (*Trial, *fakeapi.Server) {
	t.Helper()
	core := corev1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Service"), Name: "services", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Name: "endpointslices", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
	)
	client, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	gw := &gatewayv1.Gateway{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway"}}
	gw.Namespace, gw.Name = "n", GatewayName
	gw.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "10.1.2.3"}}
	server.Put(t, gw)
	target := Target{Unknown: true, DataPlane: Selector{Namespace: "{{.Namespace}}", Labels: implementation.GatewayNameLabel + "={{.Name}}"}}
	return &Trial{Kube: client, Namespace: "n", Target: target, Result: &result.Trial{}}, server
}

func TestTheAddressOfAnUnknownOneIsItsReplica(t *testing.T) {
	trial, server := strangers(t)
	find := func() []kube.Replica {
		t.Helper()
		replicas, err := trial.FindReplicas(t.Context(), 80)
		if err != nil || len(replicas) != 1 {
			t.Fatalf("%+v, %v", replicas, err)
		}
		return replicas
	}
	if got := find()[0]; got.Address().String() != "10.1.2.3:80" || !got.Serving || got.Pod != "" {
		t.Errorf("replica %+v", got)
	}
	// What the plan says goes before the status.
	trial.Target.Address = "10.9.9.9"
	if got := find()[0]; got.Address().String() != "10.9.9.9:80" {
		t.Errorf("replica %+v", got)
	}
	gw := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	trial.Target.Address = "{{.Name}}.{{.Namespace}}.svc"
	if got, err := trial.Addresses(gw); err != nil || len(got) != 1 || got[0] != "b.a.svc" {
		t.Errorf("addresses %q, %v", got, err)
	}
	trial.Target.Address = "{{.Nonsense}}"
	if _, err := trial.Addresses(gw); err == nil {
		t.Error("an address that cannot be filled in is taken")
	}
	// Pods that can be told apart are.
	labels := map[string]string{implementation.GatewayNameLabel: GatewayName}
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
	service.Namespace, service.Name, service.Labels = "n", "proxy", labels
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	server.Put(t, service)
	slice := &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, AddressType: discoveryv1.AddressTypeIPv4}
	slice.Namespace, slice.Name, slice.Labels = "n", "proxy-1", map[string]string{discoveryv1.LabelServiceName: "proxy"}
	name, port := "http", int32(8080)
	slice.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.7"}}}
	server.Put(t, slice)
	if got := find()[0]; got.Address().String() != "10.0.0.7:8080" {
		t.Errorf("replica %+v", got)
	}
}

func TestOneThatIsKnownHasNoReplicaButItsPods(t *testing.T) {
	trial, _ := strangers(t)
	trial.Target.Unknown = false
	if replicas, err := trial.FindReplicas(t.Context(), 80); err == nil || len(replicas) != 0 {
		t.Errorf("%+v, %v", replicas, err)
	}
}

// TestAnotherImageIsNotMeasured: the trial is invalid before its clock starts.
func TestAnotherImageIsNotMeasured(t *testing.T) {
	trial, server := strangers(t)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.Labels = "n", "p", map[string]string{implementation.GatewayNameLabel: GatewayName}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", ImageID: "sha256:bbb"}}
	server.Put(t, pod)
	trial.Target.ControlPlane = Selector{Namespace: "c", Labels: "app=none"}
	if err := trial.checkImages(t.Context()); err != nil || len(trial.Result.Gates) != 0 {
		t.Errorf("where nothing was asked for: %v", err)
	}
	trial.Target.Images = []kube.WantedImage{{Ref: "proxy:1", Containers: []string{"proxy"}, Digests: []string{"sha256:bbb"}}}
	if err := trial.checkImages(t.Context()); err != nil || len(trial.Result.Gates) != 1 || !trial.Result.Gates[0].OK {
		t.Errorf("the right one: %v, gates %+v", err, trial.Result.Gates)
	}
	trial.Target.Images[0].Digests[0] = "sha256:aaa"
	err := trial.checkImages(t.Context())
	if outcome, why := Outcome(err); outcome != result.Invalid || trial.Result.Gates[1].OK {
		t.Errorf("another one is %s: %s, gates %+v", outcome, why, trial.Result.Gates)
	}
}
