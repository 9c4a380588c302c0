package implementations

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

// described starts an API server with the Gateway API and the kinds that a
// check looks at, and writes its kubeconfig.
func described(t *testing.T) (*fakeapi.Server, string) {
	t.Helper()
	core := corev1.SchemeGroupVersion
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), Name: "customresourcedefinitions"},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Service"), Name: "services", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Name: "endpointslices", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("GatewayClass"), Name: "gatewayclasses"},
		fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true},
	)
	crd := &apiextensionsv1.CustomResourceDefinition{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	crd.Name = "gateways.gateway.networking.k8s.io"
	crd.Spec.Group = gatewayv1.GroupName
	server.Put(t, crd)
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, path
}

func putClass(t *testing.T, server *fakeapi.Server, controller string, accepted bool) {
	t.Helper()
	class := &gatewayv1.GatewayClass{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "GatewayClass"}}
	class.Name, class.Spec.ControllerName = "theirs", gatewayv1.GatewayController(controller)
	if accepted {
		class.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}}
	}
	server.Put(t, class)
}

func putPod(t *testing.T, server *fakeapi.Server, namespace, name, container string, labels map[string]string) {
	t.Helper()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.Name, pod.Labels = namespace, name, labels
	pod.Spec.Containers = []corev1.Container{{Name: container}}
	server.Put(t, pod)
}

func TestACheckAgainstAClusterNamesWhatDoesNotFit(t *testing.T) {
	server, kubeconfig := described(t)
	ask := func() (string, error) {
		t.Helper()
		return do(t, "check", "truth", "--no-chart", "--kubeconfig", kubeconfig)
	}
	expect := func(out string, want ...string) {
		t.Helper()
		for _, each := range want {
			if !strings.Contains(out, each) {
				t.Errorf("%q is not in:\n%s", each, out)
			}
		}
	}
	putClass(t, server, "example.org/other", true)
	out, err := ask()
	if failure.CodeOf(err) != failure.Usage {
		t.Errorf("error %v", err)
	}
	expect(out, `WRONG   gatewayClass: none has the controller gatemark.dev/truth; there are: ["theirs (example.org/other)"]`)

	putClass(t, server, "gatemark.dev/truth", false)
	out, _ = ask()
	expect(out, "WRONG   gatewayClass theirs: is not accepted", "WRONG   features: neither theirs nor the description lists any",
		"WRONG   controlPlane.selector: no pod of the cluster has the labels app.kubernetes.io/name=truth-control",
		"WRONG   dataPlane: there is no Gateway of class theirs")

	putClass(t, server, "gatemark.dev/truth", true)
	control := map[string]string{"app.kubernetes.io/name": "truth-control"}
	putPod(t, server, "elsewhere", "control", "control", control)
	gw := &gatewayv1.Gateway{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway"}}
	gw.Namespace, gw.Name, gw.Spec.GatewayClassName = "n", "gw", "theirs"
	gw.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
	server.Put(t, gw)
	out, _ = ask()
	expect(out, "ok      gatewayClass theirs: is accepted",
		"WRONG   controlPlane.namespace: truth-system has no pod with the labels app.kubernetes.io/name=truth-control, but there are some in map[elsewhere:1]",
		"WRONG   dataPlane of gateway n/gw: its status has no address", "no pod in namespace n has the labels gateway.networking.k8s.io/gateway-name=gw")

	putPod(t, server, "truth-system", "control", "control", control)
	putPod(t, server, "n", "proxy", "other", map[string]string{"gateway.networking.k8s.io/gateway-name": "gw"})
	out, _ = ask()
	expect(out, "ok      controlPlane.selector: 1 pods in truth-system", "ok      dataPlane of gateway n/gw: 1 pods in n",
		`WRONG   dataPlane.container: pod proxy has no container "data", but ["other"]`, "WRONG   dataPlane.selector: listener http: find replicas in n")
	for _, request := range server.Requests() {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("a check wrote to the cluster: %s", request)
		}
	}
}
