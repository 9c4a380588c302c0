package scenario_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

func TestTheBaseOfATrial(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	objects, err := trial.Render("base.yaml", scenario.BaseManifest, map[string]any{
		"Namespace": "gm-1", "EchoImage": "registry.test:5000/gatemark@sha256:abc", "Backends": scenario.Backends{Pods: 3}, "GatewayClass": "class",
		"Listeners": []scenario.Listener{{Name: "plain"}, {Name: "l1", Host: "*.l1.gatemark.test"}},
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
	gateway := scenariotest.Typed[gatewayv1.Gateway](t, objects, "Gateway")
	var hosts []string
	for _, l := range gateway.Spec.Listeners {
		host := "none"
		if l.Hostname != nil {
			host = string(*l.Hostname)
		}
		hosts = append(hosts, string(l.Name)+" "+host)
		if l.Port != scenario.ListenerPort {
			t.Errorf("listener %s has port %d: replicas are looked for by %d", l.Name, l.Port, scenario.ListenerPort)
		}
	}
	if diff := cmp.Diff([]string{"plain none", "l1 *.l1.gatemark.test"}, hosts); diff != "" || gateway.Name != scenario.GatewayName || gateway.Spec.GatewayClassName != "class" {
		t.Errorf("gateway %s of class %s, listeners (-want +got):\n%s", gateway.Name, gateway.Spec.GatewayClassName, diff)
	}
	deployment := scenariotest.Typed[appsv1.Deployment](t, objects, "Deployment")
	pod, service := deployment.Spec.Template, scenariotest.Typed[corev1.Service](t, objects, "Service")
	if *deployment.Spec.Replicas != 3 || pod.Spec.Containers[0].Image != "registry.test:5000/gatemark@sha256:abc" {
		t.Errorf("%d replicas of %s", *deployment.Spec.Replicas, pod.Spec.Containers[0].Image)
	}
	for name, value := range service.Spec.Selector {
		if pod.Labels[name] != value {
			t.Errorf("the Service selects %s=%s, the pods have %v", name, value, pod.Labels)
		}
	}
}

// TestBackendsWithACertificate: the files that they are told of are mounted.
func TestBackendsWithACertificate(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	objects, err := trial.Render("base.yaml", scenario.BaseManifest, map[string]any{
		"Namespace": "gm-1", "EchoImage": "gatemark", "Backends": scenario.Backends{Pods: 1, Secret: "backend"}, "GatewayClass": "", "Listeners": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := scenariotest.Typed[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec
	echo := pod.Containers[0]
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret.SecretName != "backend" || len(echo.VolumeMounts) != 1 || echo.VolumeMounts[0].Name != pod.Volumes[0].Name {
		t.Fatalf("volumes %+v, mounted %+v", pod.Volumes, echo.VolumeMounts)
	}
	for flag, file := range map[string]string{"--cert": corev1.TLSCertKey, "--key": corev1.TLSPrivateKeyKey} {
		if want := flag + "=" + echo.VolumeMounts[0].MountPath + "/" + file; !slices.Contains(echo.Args, want) {
			t.Errorf("%s is not among %q", want, echo.Args)
		}
	}
}

func TestManifestsAreStrict(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	_, err := trial.Render("base.yaml", scenario.BaseManifest, map[string]any{"Namespace": "n"})
	if err == nil || !strings.Contains(err.Error(), "Backends") && !strings.Contains(err.Error(), "EchoImage") {
		t.Errorf("a manifest without its data: %v", err)
	}
}

func TestTheDataPlaneOfAGateway(t *testing.T) {
	trial := scenariotest.Trial(t, simplest, nil)
	trial.Target.DataPlane = scenario.Selector{Namespace: "{{.Namespace}}", Labels: "owner={{.Name}},ns={{.Namespace}}"}
	got, err := trial.DataPlane()
	if want := (scenario.Selector{"trial", "owner=gateway,ns=trial"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"{{.Nmae}}", "{{"} {
		trial.Target.DataPlane.Labels = bad
		if _, err := trial.DataPlane(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("selector %q: %v", bad, err)
		}
	}
}
