package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
)

// On a real API server: rendering and applying, the versions of the Gateway
// API, a Gateway that gets its status by hand, replicas, and the removal of
// 1,000 objects among somebody else's.
func TestOnAnAPIServer(t *testing.T) {
	c, _ := kubetest.Start(t)
	t.Run("gateway API", func(t *testing.T) {
		api, err := kube.FindGatewayAPI(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(api.Version, "v1.") || api.Channel != "standard" || len(api.Kinds["HTTPRoute"]) == 0 {
			t.Errorf("found %+v", api)
		}
	})
	t.Run("gateway", func(t *testing.T) { testGateway(t, c) })
	t.Run("replicas", func(t *testing.T) { testReplicas(t, c) })
	t.Run("workloads", func(t *testing.T) { testWorkloads(t, c) })
	t.Run("delete", func(t *testing.T) { testDelete(t, c) })
	t.Run("delete what is held", func(t *testing.T) { testHeld(t, c) })
}

func testGateway(t *testing.T, c *kube.Client) {
	kubetest.Namespace(t, c, "gw")
	objects, err := kube.Render("gateway", `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: gw}
spec:
  gatewayClassName: {{.}}
  listeners:
  - {name: http, port: 80, protocol: HTTP}
`, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Apply(t.Context(), c, objects...); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: "gw", Name: "gw"}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = kube.WaitGateway(short, c, key)
	if err == nil || !strings.Contains(err.Error(), "0 of 1 listeners programmed") {
		t.Errorf("got %v", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { program(t, c, key) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	gw, err := kube.WaitGateway(ctx, c, key)
	if err != nil {
		t.Fatal(err)
	}
	if got := kube.Addresses(gw); len(got) != 1 || got[0] != "10.1.2.3" {
		t.Errorf("addresses %q", got)
	}
	// The definitions are enforced: a mistake comes back as an error.
	objects[0].Object["spec"].(map[string]any)["listeners"] = []any{}
	if err := kube.Apply(t.Context(), c, objects...); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "apply gateway gw/gw") {
		t.Errorf("got %v", err)
	}
}

// program writes the status that a controller would.
func program(t *testing.T, c *kube.Client, key client.ObjectKey) {
	var gw gatewayv1.Gateway
	if err := c.Get(t.Context(), key, &gw); err != nil {
		t.Error(err)
		return
	}
	conditions := func() (all []metav1.Condition) {
		for _, name := range []string{"Accepted", "Programmed"} {
			all = append(all, metav1.Condition{
				Type: name, Status: "True", Reason: name, ObservedGeneration: gw.Generation, LastTransitionTime: metav1.Now()})
		}
		return all
	}
	gw.Status.Conditions = conditions()
	gw.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Type: ptr.To(gatewayv1.IPAddressType), Value: "10.1.2.3"}}
	gw.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "http", Conditions: conditions(),
		SupportedKinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}}}}
	if err := c.Status().Update(t.Context(), &gw); err != nil {
		t.Error(err)
	}
}

func testReplicas(t *testing.T, c *kube.Client) {
	kubetest.Namespace(t, c, "infra")
	meta := metav1.ObjectMeta{Namespace: "infra", Name: "proxy", Labels: map[string]string{"gw": "x"}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "infra", Name: "proxy-1", Labels: map[string]string{discoveryv1.LabelServiceName: "proxy"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](10080)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.9.9.9"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "infra", Name: "p"}}},
	}
	if err := kube.Create(t.Context(), c, service, slice); err != nil {
		t.Fatal(err)
	}
	replicas, err := kube.Replicas(t.Context(), c, "infra", "gw=x", 80)
	if err != nil || len(replicas) != 1 || replicas[0].Address() != netip.MustParseAddrPort("10.9.9.9:10080") || !replicas[0].Ready {
		t.Errorf("replicas %+v, %v", replicas, err)
	}
}

func testDelete(t *testing.T, c *kube.Client) {
	kubetest.Namespace(t, c, "many")
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	precious := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "precious"}}
	if err := kube.Create(t.Context(), c, theirs, precious); err != nil {
		t.Fatal(err)
	}
	makeRoutes(t, c, 1000)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	started := time.Now()
	removal, err := kube.DeleteAll(ctx, c, kube.DeleteOptions{Owned: kube.OwnedBy("test", "many")})
	if err != nil || removal.Deleted != 1000 {
		t.Fatalf("%+v, %v", removal, err)
	}
	t.Logf("1000 routes in %s", time.Since(started))
	if removal, err = kube.DeleteAll(ctx, c, kube.DeleteOptions{Owned: kube.OwnedBy("test", "")}); err != nil {
		t.Fatal(err)
	}
	t.Logf("the rest, with namespaces, in %s: %+v", time.Since(started), removal)
	var left gatewayv1.HTTPRouteList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
		t.Errorf("%d routes left, %v", len(left.Items), err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(precious), precious); err != nil {
		t.Errorf("somebody else's object is gone: %v", err)
	}
}

// makeRoutes makes n routes, half of them in a namespace that is not ours.
func makeRoutes(t *testing.T, c *kube.Client, n int) {
	group := errgroup.Group{}
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "many", Name: fmt.Sprint("r", i)}}
			if i%2 == 0 {
				route.Namespace = "theirs"
			}
			kube.Own(route, "test", "many")
			return kube.Create(t.Context(), c, route)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func testHeld(t *testing.T, c *kube.Client) {
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held", Finalizers: []string{"example.com/hold"}}}
	kube.Own(held, "held", "")
	if err := kube.Create(t.Context(), c, held); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := kube.DeleteAll(short, c, kube.DeleteOptions{Owned: kube.OwnedBy("held", "")})
	if err == nil || !strings.Contains(err.Error(), "configmaps default/held waits for example.com/hold") {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	removal, err := kube.DeleteAll(ctx, c, kube.DeleteOptions{Owned: kube.OwnedBy("held", ""), Force: time.Second})
	if err != nil || len(removal.Forced) != 1 {
		t.Errorf("%+v, %v", removal, err)
	}
}

// testWorkloads stops and resumes one of each kind, and does neither to what
// changed since it was read.
func testWorkloads(t *testing.T, c *kube.Client) {
	kubetest.Namespace(t, c, "work")
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		objects, err := kube.Render("workload", `
apiVersion: apps/v1
kind: {{.}}
metadata: {name: w, namespace: work, labels: {app: w}}
spec:
  {{- if ne . "DaemonSet"}}
  replicas: 3
  {{- end}}
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec:
      nodeSelector: {fits: nowhere}
      containers: [{name: c, image: none}]
`, kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := kube.Apply(t.Context(), c, objects...); err != nil {
			t.Fatal(err)
		}
		read := func() kube.Workload {
			w, err := kube.GetWorkload(t.Context(), c, kube.WorkloadRef{Kind: kind, Namespace: "work", Name: "w"})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		running := read()
		if err := running.Stop(t.Context(), c); err != nil || !read().Stopped() {
			t.Errorf("%s: stop: %v", kind, err)
		}
		if kind != "DaemonSet" { // of which stopping twice changes nothing
			if err := running.Stop(t.Context(), c); !errors.Is(err, kube.ErrWorkloadChanged) {
				t.Errorf("%s: stop of what was stopped since: %v", kind, err)
			}
		}
		if err := read().Resume(t.Context(), c, 3); err != nil {
			t.Errorf("%s: resume: %v", kind, err)
		}
		after := read()
		if after.Stopped() || after.Replicas() != running.Replicas() {
			t.Errorf("%s: %d replicas, stopped %v", kind, after.Replicas(), after.Stopped())
		}
		selector, _, err := unstructured.NestedStringMap(after.Object, "spec", "template", "spec", "nodeSelector")
		if err != nil || len(selector) != 1 || selector["fits"] != "nowhere" {
			t.Errorf("%s: node selector %v, %v", kind, selector, err)
		}
		if err := c.Delete(t.Context(), after.Unstructured); err != nil {
			t.Fatal(err)
		}
		if err := running.Resume(t.Context(), c, 3); !apierrors.IsNotFound(err) {
			t.Errorf("%s: resume of what is gone: %v", kind, err)
		}
	}
}
