package session

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
)

// TestTheRunnerMaySetAside: with its own rights, on a real API server, the
// runner stops and starts each kind of workload and keeps its manifests; other
// namespaces' ConfigMaps it cannot read.
func TestTheRunnerMaySetAside(t *testing.T) {
	c, _ := kubetest.Start(t)
	for _, o := range render(t, nil) {
		if o.GetKind() != "Pod" {
			kube.Own(o, "r", "")
			if err := kube.Apply(t.Context(), c, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate.UserName = "system:serviceaccount:gatemark-r:runner"
	runner, err := kube.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Namespace(t, c, "system")
	in := park.Installation{Name: "product", DataPlane: park.DataPlane{Kind: "DaemonSet", Selector: scenario.Selector{Namespace: "system", Labels: "app=daemonset"}}}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		workload(t, c, kind)
		if kind != "DaemonSet" {
			in.ControlPlane = append(in.ControlPlane, kube.WorkloadRef{Kind: kind, Namespace: "system", Name: "w"})
		}
	}
	stopped := func(want bool) {
		t.Helper()
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
			w, err := kube.GetWorkload(t.Context(), c, kube.WorkloadRef{Kind: kind, Namespace: "system", Name: "w"})
			if err != nil || w.Stopped() != want {
				t.Errorf("%s: stopped is %v, want %v, %v", kind, w.Stopped(), want, err)
			}
		}
	}
	parker := &park.Parker{Kube: runner, Run: "r", Namespace: "gatemark-r"}
	for range 2 {
		if _, err := parker.Park(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	stopped(true)
	if err := parker.Undisturbed(t.Context(), in); err != nil {
		t.Error(err)
	}
	if _, err := parker.Restore(t.Context(), "product"); err != nil {
		t.Fatal(err)
	}
	stopped(false)
	if _, err := park.RestoreAll(t.Context(), runner, "gatemark-r", "r"); err != nil {
		t.Error(err)
	}
	if err := runner.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("kube-system")); !apierrors.IsForbidden(err) {
		t.Errorf("ConfigMaps of another namespace: %v", err)
	}
}

// workload makes one of a kind, which the run made.
func workload(t *testing.T, c *kube.Client, kind string) {
	t.Helper()
	app := map[string]string{"app": map[string]string{"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemonset"}[kind]}
	named := metav1.ObjectMeta{Namespace: "system", Name: "w", Labels: map[string]string{"app": app["app"]}}
	selector := &metav1.LabelSelector{MatchLabels: app}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
	var object client.Object = &appsv1.DaemonSet{ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pods}}
	switch kind {
	case "Deployment":
		object = &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: pods}}
	case "StatefulSet":
		object = &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: pods}}
	}
	kube.Own(object, "r", "")
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
