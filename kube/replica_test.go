package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

func service(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, Labels: map[string]string{"gw": "x"}},
		Spec:       corev1.ServiceSpec{Ports: ports},
	}
}

func slice(name, service string, port int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		TypeMeta:   metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: "discovery.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Ports:      []discoveryv1.EndpointPort{{Name: ptr.To("other"), Port: ptr.To[int32](1)}, {Name: ptr.To("http"), Port: &port}},
		Endpoints:  endpoints,
	}
}

func endpoint(pod, address string, conditions discoveryv1.EndpointConditions) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{address}, Conditions: conditions, NodeName: ptr.To("n1"),
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "infra", Name: pod},
	}
}

func TestReplicas(t *testing.T) {
	server, c := startFake(t)
	http := corev1.ServicePort{Name: "http", Port: 80}
	server.Put(t, service("proxy", corev1.ServicePort{Name: "other", Port: 443}, http))
	server.Put(t, service("proxy-again", http)) // a second Service onto the same pods
	server.Put(t, service("metrics", corev1.ServicePort{Name: "metrics", Port: 9090}))
	server.Put(t, slice("s1", "proxy", 10080,
		endpoint("b", "10.0.0.2", discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}),
		endpoint("a", "10.0.0.1", discoveryv1.EndpointConditions{})))
	server.Put(t, slice("s2", "proxy-again", 10080, endpoint("a", "10.0.0.1", discoveryv1.EndpointConditions{Ready: ptr.To(true)})))
	server.Put(t, slice("s3", "stranger", 10080, endpoint("c", "10.0.0.3", discoveryv1.EndpointConditions{})))

	got, err := Replicas(t.Context(), c, "infra", "gw=x", 80)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Pod, Address, Node          string
		Ready, Serving, Terminating bool
	}
	var rows []row
	for _, r := range got {
		rows = append(rows, row{r.Pod, r.Address().String(), r.Node, r.Ready, r.Serving, r.Terminating})
	}
	want := []row{
		{"infra/a", "10.0.0.1:10080", "n1", true, true, false},
		{"infra/b", "10.0.0.2:10080", "n1", false, true, true},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = Replicas(t.Context(), c, "infra", "gw=x", 8080)
	if err == nil || !strings.Contains(err.Error(), "no service with port 8080 among 3") || !strings.Contains(err.Error(), "infra/metrics has [9090]") {
		t.Errorf("got %v", err)
	}
}

func TestAServiceBelongsToThePodsThatItSelects(t *testing.T) {
	pods, err := labels.Parse("app=envoy-gw")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		labels, selector map[string]string
		want             bool
	}{
		"by its own labels":   {map[string]string{"app": "envoy-gw"}, map[string]string{"x": "y"}, true},
		"by what it selects":  {map[string]string{"owner": "gw"}, map[string]string{"app": "envoy-gw"}, true},
		"of other pods":       {map[string]string{"owner": "gw"}, map[string]string{"app": "contour-gw"}, false},
		"without a selector":  {nil, nil, false},
		"of more than these":  {nil, map[string]string{"owner": "gw"}, false},
		"of some of the pods": {nil, map[string]string{"app": "envoy-gw", "owner": "gw"}, true},
	} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}, Spec: corev1.ServiceSpec{Selector: c.selector}}
		if got := Selects(s, pods); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
