package scenario

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/google/go-cmp/cmp"
)

func typed[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
				t.Fatal(err)
			}
			return into
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

func TestTheBaseOfATrial(t *testing.T) {
	trial := newTrial(t, attachedRoutes, nil)
	objects, err := trial.render("base.yaml", baseManifest, map[string]any{
		"Namespace": "gm-1", "EchoImage": "registry.test:5000/gatemark@sha256:abc", "Backends": 3, "GatewayClass": "class",
		"Listeners": []listener{{Name: "plain"}, {Name: "l1", Host: "*.l1.gatemark.test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		labels := o.GetLabels()
		if o.GetNamespace() != "gm-1" || !kube.Owned(o) || labels[kube.RunLabel] != "r" || labels[kube.TrialLabel] != "b01" {
			t.Errorf("%s %s/%s has labels %v", o.GetKind(), o.GetNamespace(), o.GetName(), labels)
		}
	}
	gateway := typed[gatewayv1.Gateway](t, objects, "Gateway")
	var hosts []string
	for _, l := range gateway.Spec.Listeners {
		host := "none"
		if l.Hostname != nil {
			host = string(*l.Hostname)
		}
		hosts = append(hosts, string(l.Name)+" "+host)
		if l.Port != listenerPort {
			t.Errorf("listener %s has port %d: replicas are looked for by %d", l.Name, l.Port, listenerPort)
		}
	}
	if diff := cmp.Diff([]string{"plain none", "l1 *.l1.gatemark.test"}, hosts); diff != "" || gateway.Name != GatewayName || gateway.Spec.GatewayClassName != "class" {
		t.Errorf("gateway %s of class %s, listeners (-want +got):\n%s", gateway.Name, gateway.Spec.GatewayClassName, diff)
	}
	deployment := typed[appsv1.Deployment](t, objects, "Deployment")
	pod, service := deployment.Spec.Template, typed[corev1.Service](t, objects, "Service")
	if *deployment.Spec.Replicas != 3 || pod.Spec.Containers[0].Image != "registry.test:5000/gatemark@sha256:abc" {
		t.Errorf("%d replicas of %s", *deployment.Spec.Replicas, pod.Spec.Containers[0].Image)
	}
	for name, value := range service.Spec.Selector {
		if pod.Labels[name] != value {
			t.Errorf("the Service selects %s=%s, the pods have %v", name, value, pod.Labels)
		}
	}
}

func TestARouteMarksWhatItServes(t *testing.T) {
	a := &attachment{Trial: newTrial(t, attachedRoutes, nil), listeners: []listener{{Name: "l0"}, {Name: "l1"}}}
	object, err := a.route(42)
	if err != nil {
		t.Fatal(err)
	}
	route := typed[gatewayv1.HTTPRoute](t, []*unstructured.Unstructured{object.(*unstructured.Unstructured)}, "HTTPRoute")
	want := []gatewayv1.Hostname{"route-00042.l0.gatemark.test", "route-00042.l1.gatemark.test"}
	if diff := cmp.Diff(want, route.Spec.Hostnames); diff != "" {
		t.Errorf("host names (-want +got):\n%s", diff)
	}
	if p := route.Spec.ParentRefs; len(p) != 1 || p[0].Name != GatewayName || p[0].SectionName != nil {
		t.Errorf("parents %+v: a route attaches to every listener", p)
	}
	set := map[string]string{}
	for _, h := range route.Spec.Rules[0].Filters[0].RequestHeaderModifier.Set {
		set[string(h.Name)] = h.Value
	}
	for _, pair := range marker.Expect("route-00042", 1).Filter() {
		if set[pair[0]] != pair[1] {
			t.Errorf("the route sets %v, want %v", set, pair)
		}
	}
}

func TestManifestsAreStrict(t *testing.T) {
	trial := newTrial(t, attachedRoutes, nil)
	_, err := trial.render("base.yaml", baseManifest, map[string]any{"Namespace": "n"})
	if err == nil || !strings.Contains(err.Error(), "Backends") && !strings.Contains(err.Error(), "EchoImage") {
		t.Errorf("a manifest without its data: %v", err)
	}
}

func TestTheDataPlaneOfAGateway(t *testing.T) {
	trial := newTrial(t, attachedRoutes, nil)
	trial.Target.DataPlane = Selector{Namespace: "{{.Namespace}}", Labels: "owner={{.Name}},ns={{.Namespace}}"}
	got, err := trial.DataPlane()
	if want := (Selector{"trial", "owner=gateway,ns=trial"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"{{.Nmae}}", "{{"} {
		trial.Target.DataPlane.Labels = bad
		if _, err := trial.DataPlane(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("selector %q: %v", bad, err)
		}
	}
}
