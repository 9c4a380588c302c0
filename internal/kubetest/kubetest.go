// Package kubetest gives a test a client on a real API server that has the
// Gateway API's definitions: a local cluster in mode control-plane.
package kubetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/kube"
)

// Start skips the test unless GATEMARK_E2E=1. The cluster ends with the test.
func Start(t testing.TB) (*kube.Client, *local.Cluster) {
	t.Helper()
	if !localtest.E2E() {
		t.Skip("needs an API server: set GATEMARK_E2E=1")
	}
	cluster := localtest.Start(t)
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.New(t.Context(), config, kube.Agent("test"))
	if err != nil {
		t.Fatal(err)
	}
	InstallGatewayAPI(t, c)
	return c, cluster
}

// InstallGatewayAPI gives a cluster the definitions of the standard channel, of
// the version that gatemark is built with.
func InstallGatewayAPI(t testing.TB, c *kube.Client) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config/crd/standard/gateway.*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", out, err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kube.Decode(f)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := kube.Apply(t.Context(), c, objects...); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var definitions []*apiextensionsv1.CustomResourceDefinition
	err = kube.WaitAll(ctx, c, "the Gateway API's definitions", nil, func(all []*apiextensionsv1.CustomResourceDefinition) (bool, string) {
		for _, crd := range all {
			for _, condition := range crd.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status != apiextensionsv1.ConditionTrue {
					return false, crd.Name + " is not established"
				}
			}
		}
		if len(all) < len(files)-1 {
			return false, "not all there"
		}
		definitions = all
		return true, ""
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range definitions {
		awaitServed(ctx, t, c, crd)
	}
}

// awaitServed waits until a kind can be listed: an API server says that it is
// established some time before, and watches of that time may see nothing.
func awaitServed(ctx context.Context, t testing.TB, c *kube.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, version := range crd.Spec.Versions {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.ListKind})
		for version.Served {
			err := c.List(ctx, list, client.Limit(1))
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s is not served in version %s: %v", crd.Name, version.Name, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// Namespace makes a namespace that is gatemark's.
func Namespace(t testing.TB, c *kube.Client, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	kube.Own(ns, "test", "")
	if err := kube.Create(t.Context(), c, ns); err != nil {
		t.Fatal(err)
	}
}
