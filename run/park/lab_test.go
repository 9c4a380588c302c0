package park

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/scenario"
)

// A lab is a cluster in memory with an implementation that run r installed, a
// Gateway of that run, and things of others that look alike.
type lab struct {
	*Parker
	server *fakeapi.Server
	steps  []string
}

var perGateway = Installation{
	Name: "product", GatewayClass: "class",
	ControlPlane: []kube.WorkloadRef{{Kind: "Deployment", Namespace: "system", Name: "control"}},
	DataPlane: DataPlane{Kind: "Deployment", PerGateway: true,
		Selector: scenario.Selector{Namespace: "system", Labels: "of={{.Namespace}}.{{.Name}}"}},
}

func startLab(t *testing.T) *lab {
	t.Helper()
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	l := &lab{server: fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: core.WithKind("Namespace"), Name: "namespaces"},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("ConfigMap"), Name: "configmaps", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("Deployment"), Name: "deployments", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("StatefulSet"), Name: "statefulsets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: apps.WithKind("DaemonSet"), Name: "daemonsets", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
	)}
	c, err := kube.New(t.Context(), l.server.Config())
	if err != nil {
		t.Fatal(err)
	}
	l.Parker = &Parker{Kube: c, Run: "r", Namespace: "gatemark-r", Step: func(what string) { l.steps = append(l.steps, what) }}
	l.deployment(t, "system", "control", 2, kube.OwnedBy("r", ""))
	l.deployment(t, "system", "proxy", 3, map[string]string{"of": "demo.gw"})
	l.gateway(t, "demo", "class", kube.OwnedBy("r", ""))
	// What others have: the same names elsewhere, a Gateway of their own, and
	// what another run installed.
	l.deployment(t, "elsewhere", "control", 2, map[string]string{"app": "control"})
	l.deployment(t, "elsewhere", "proxy", 1, map[string]string{"of": "demo.gw"})
	l.deployment(t, "system", "users", 1, map[string]string{"of": "users.gw"})
	l.gateway(t, "users", "class", nil)
	l.deployment(t, "system", "other-class", 1, map[string]string{"of": "more.gw"})
	l.gateway(t, "more", "another", kube.OwnedBy("r", ""))
	l.deployment(t, "system", "other-run", 1, kube.OwnedBy("r2", ""))
	return l
}

func named(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

func template(name string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	pods := map[string]string{"pods": name}
	return &metav1.LabelSelector{MatchLabels: pods}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods}}
}

func (l *lab) deployment(t *testing.T, namespace, name string, replicas int32, labels map[string]string) {
	t.Helper()
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named(namespace, name, labels)}
	d.Spec.Replicas = ptr.To(replicas)
	d.Spec.Selector, d.Spec.Template = template(name)
	d.Status = appsv1.DeploymentStatus{AvailableReplicas: replicas, UpdatedReplicas: replicas}
	l.server.Put(t, d)
}

func (l *lab) gateway(t *testing.T, namespace, class string, labels map[string]string) {
	t.Helper()
	gw := &gatewayv1.Gateway{TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway"}, ObjectMeta: named(namespace, "gw", labels)}
	gw.Spec.GatewayClassName = gatewayv1.ObjectName(class)
	l.server.Put(t, gw)
}

// pod is one of a workload's.
func (l *lab) pod(t *testing.T, namespace, workload string) {
	t.Helper()
	l.server.Put(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: named(namespace, workload+"-1", map[string]string{"pods": workload})})
}

// replicas reads every Deployment's.
func (l *lab) replicas(t *testing.T) map[string]int32 {
	t.Helper()
	var all appsv1.DeploymentList
	if err := l.Kube.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int32{}
	for _, d := range all.Items {
		found[d.Namespace+"/"+d.Name] = *d.Spec.Replicas
	}
	return found
}

func (l *lab) manifests(t *testing.T) int {
	t.Helper()
	var all corev1.ConfigMapList
	if err := l.Kube.List(t.Context(), &all, client.HasLabels{Label}); err != nil {
		t.Fatal(err)
	}
	return len(all.Items)
}

// writesToOthers lists the writes to what is not the run's.
func (l *lab) writesToOthers() []string {
	var all []string
	for _, r := range l.server.Requests() {
		if strings.HasPrefix(r, "GET ") || strings.HasSuffix(r, "/system/deployments/control") || strings.HasSuffix(r, "/system/deployments/proxy") ||
			strings.Contains(r, "/configmaps") {
			continue
		}
		all = append(all, r)
	}
	return all
}
