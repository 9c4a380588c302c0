package kube

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube/fakeapi"
)

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: "u", Controller: ptr.To(true)}}
}

// TestWorkloadsOf: by the owners of pods, each once; what nobody controls, and
// what is gone, has none.
func TestWorkloadsOf(t *testing.T) {
	apps := appsv1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("ReplicaSet"), Name: "replicasets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("Deployment"), Name: "deployments", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("DaemonSet"), Name: "daemonsets", Namespaced: true},
	)
	named := func(name string, owners []metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{"app": "x"}, OwnerReferences: owners}
	}
	for name, owners := range map[string][]metav1.OwnerReference{
		"one": controlledBy("ReplicaSet", "r"), "two": controlledBy("ReplicaSet", "r"), "three": controlledBy("DaemonSet", "d"),
		"alone": nil, "old": controlledBy("ReplicaSet", "gone"), "job": controlledBy("Job", "j"),
	} {
		server.Put(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: named(name, owners)})
	}
	server.Put(t, &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: named("r", controlledBy("Deployment", "w"))})
	server.Put(t, &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named("w", nil), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}})
	server.Put(t, &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: named("d", nil)})
	c, err := New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	found, err := WorkloadsOf(t.Context(), c, "a", "app=x")
	if err != nil || len(found) != 2 || found[0].Ref().String() != "daemonset a/d" || found[1].Ref().String() != "deployment a/w" {
		t.Fatalf("%v, %v", found, err)
	}
	for _, w := range found {
		at, err := w.Restart(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		after, err := GetWorkload(t.Context(), c, w.Ref())
		if err != nil || at == "" || after.RestartedAt() != at || w.RestartedAt() != "" {
			t.Errorf("%s: restarted at %q, it says %q, %v", w.Ref(), at, after.RestartedAt(), err)
		}
	}
	var d appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, &d); err != nil || d.Spec.Template.Annotations[restartedKey] == "" {
		t.Errorf("annotations %v, %v", d.Spec.Template.Annotations, err)
	}
	if err := found[0].Scale(t.Context(), c, 2); err == nil || !strings.Contains(err.Error(), "a pod on each node") {
		t.Errorf("scale of a DaemonSet: %v", err)
	}
	if err := found[1].Scale(t.Context(), c, 3); err != nil || found[0].Scales() || !found[1].Scales() {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, &d); err != nil || *d.Spec.Replicas != 3 {
		t.Errorf("%d replicas, %v", *d.Spec.Replicas, err)
	}
}
