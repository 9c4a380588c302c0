package install_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
)

const twoCharts = `
apiVersion: gatemark.dev/v1
kind: Implementation
name: vendor
title: Vendor
version: v1.2.3
project:
  url: https://vendor.test
  repository: https://vendor.test/code
  openSource: "yes"
  license: Apache-2.0
  vendors: [Vendor]
  dataPlaneProxy: proxy
  dataPlaneProxyVersion: v1
gatewayAPI: {version: v1.6.1, channel: standard}
gatewayClass: {name: vendor, controllerName: vendor.test/controller}
before:
  - release: first
    chart: {path: first, values: first.yaml}
chart: {path: second}
release: {name: second, namespace: vendor-system}
controlPlane:
  namespace: vendor-system
  selector: {app: control}
  workloads: [{kind: Deployment, name: control}]
dataPlane:
  perGateway: true
  namespace: "{{ .Gateway.Namespace }}"
  selector: {gateway: "{{ .Gateway.Name }}"}
  container: proxy
  workloadKind: Deployment
leftovers:
  - {apiVersion: v1, kind: ConfigMap, name: vendor-root}
`

// twoChartsFolder is a product in two charts. The second needs the first's
// definition.
func twoChartsFolder(t *testing.T) *implementation.Implementation {
	t.Helper()
	impl, err := implementation.Load(fstest.MapFS{
		"implementation.yaml": {Data: []byte(twoCharts)},
		"first.yaml":          {Data: []byte("scope: Cluster\n")},
		"first/Chart.yaml":    {Data: []byte("{apiVersion: v2, name: first, version: 1.0.0}\n")},
		"first/values.yaml":   {Data: []byte("scope: unknown\n")},
		"first/templates/crd.yaml": {Data: []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.vendor.test, annotations: {"helm.sh/resource-policy": keep}}
spec:
  group: vendor.test
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: {{ .Values.scope }}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)},
		"second/Chart.yaml": {Data: []byte("{apiVersion: v2, name: second, version: 1.0.0}\n")},
		"second/templates/all.yaml": {Data: []byte(`
apiVersion: vendor.test/v1
kind: Thing
metadata: {name: it}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: control}
spec:
  selector: {matchLabels: {app: control}}
  template:
    metadata: {labels: {app: control}}
    spec: {containers: [{name: control, image: "vendor.test/control:v1"}]}
`)},
	})
	must(t, err)
	return impl
}

// TestTwoChartsAndWhatTheProductLeaves: on a cluster without nodes, so that
// the installation fails once both charts are in.
func TestTwoChartsAndWhatTheProductLeaves(t *testing.T) {
	whole(t)
	c := connect(t, localtest.Start(t))
	before := inventory(t, c)
	installer := &install.Installer{Config: c.Config, Images: &image.Builder{Dir: t.TempDir()}, Run: "r1", Deadline: 2 * time.Second, Retain: true}
	_, err := installer.Install(t.Context(), twoChartsFolder(t), "")
	if err == nil || !strings.Contains(err.Error(), "control") {
		t.Fatalf("error %v", err)
	}
	releases := slices.DeleteFunc(inventory(t, c), func(line string) bool { return !strings.Contains(line, "sh.helm.release") })
	want := []string{"secrets vendor-system/sh.helm.release.v1.first.v1", "secrets vendor-system/sh.helm.release.v1.second.v1"}
	if diff := cmp.Diff(want, releases); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}

	// What the product would make by itself.
	root := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vendor-root"}}
	}
	for _, namespace := range []string{"default", "kube-system"} {
		must(t, c.Create(t.Context(), root(namespace)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, (&install.Installer{Config: c.Config}).Clean(ctx))
	sameInventory(t, c, before)

	// One that is there before is of somebody else's installation.
	must(t, c.Create(t.Context(), root("default")))
	_, err = installer.Install(t.Context(), twoChartsFolder(t), "")
	if err == nil || !strings.Contains(err.Error(), "configmap default/vendor-root is in the cluster already, and gatemark did not install it") {
		t.Errorf("error %v", err)
	}
	must(t, c.Delete(t.Context(), root("default")))
	sameInventory(t, c, before)
}
