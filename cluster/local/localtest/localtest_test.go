package localtest

import (
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The controller manager is part of a control plane: it makes EndpointSlices.
func TestControlPlaneMakesEndpointSlices(t *testing.T) {
	c := Start(t)
	if c.Mode() != local.ControlPlane {
		t.Errorf("mode is %s", c.Mode())
	}
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "some"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "some"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		slices, err := client.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=some"})
		if err != nil {
			t.Fatal(err)
		}
		if len(slices.Items) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Service has %d EndpointSlices after a minute, not 1", len(slices.Items))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
