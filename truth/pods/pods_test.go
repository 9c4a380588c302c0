package pods

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

// object finds the one of a kind.
func object[T any](t *testing.T, all []*unstructured.Unstructured, kind string) T {
	t.Helper()
	var typed T
	at := slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind })
	if at < 0 {
		t.Fatalf("no %s", kind)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[at].Object, &typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

func gateway() *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "a", UID: "u"}, Spec: gatewayv1.GatewaySpec{
		Infrastructure: &gatewayv1.GatewayInfrastructure{
			Labels:      map[gatewayv1.LabelKey]gatewayv1.LabelValue{"l": "1"},
			Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"n": "2"},
		},
	}}
}

func TestADataPlane(t *testing.T) {
	p := &Placement{Image: "image:1", Replicas: 3, Control: "http://c:1", Faults: fault.Faults{ErrorEvery: 7}}
	all, err := p.render(gateway(), []int32{80, 8080})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		owners := u.GetOwnerReferences()
		if u.GetNamespace() != "a" || u.GetLabels()[gatewayv1.GatewayNameLabelKey] != "g" || u.GetLabels()["l"] != "1" || u.GetAnnotations()["n"] != "2" ||
			len(owners) != 1 || owners[0].UID != "u" {
			t.Errorf("%s: %v %v %v", u.GetKind(), u.GetLabels(), u.GetAnnotations(), owners)
		}
	}
	d := object[appsv1.Deployment](t, all, "Deployment")
	c := d.Spec.Template.Spec.Containers[0]
	if *d.Spec.Replicas != 3 || c.Image != "image:1" || !strings.Contains(strings.Join(c.Args, " "), `--gateway=a/g --control=http://c:1 --faults {"errorEvery":7}`) {
		t.Errorf("%d replicas of %s with %q", *d.Spec.Replicas, c.Image, c.Args)
	}
	for name, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[name] != value {
			t.Errorf("pods are not selected by %s: %v", name, d.Spec.Template.Labels)
		}
	}
	if d.Spec.Template.Labels["l"] != "1" || d.Spec.Template.Annotations["n"] != "2" {
		t.Errorf("pods have %v and %v", d.Spec.Template.Labels, d.Spec.Template.Annotations)
	}
	s := object[corev1.Service](t, all, "Service")
	if !maps.Equal(s.Spec.Selector, d.Spec.Selector.MatchLabels) || s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("%s selects %v", s.Spec.Type, s.Spec.Selector)
	}
	if p := s.Spec.Ports; len(p) != 2 || p[0].Port != 80 || p[0].TargetPort.IntVal != 64592 || p[1].Port != 8080 || p[1].TargetPort.IntVal != 8080 {
		t.Errorf("ports %+v", p)
	}
}

func TestADataPlaneWithoutPortsHasNoService(t *testing.T) {
	all, err := (&Placement{Image: "image:1", Replicas: 1}).render(gateway(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		if u.GetKind() == "Service" {
			t.Error("there is a Service")
		}
	}
}
