package install_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
)

// A Gateway and a route that needs no backend: the proxy itself answers.
const served = `
apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec:
  gatewayClassName: {{ .Class }}
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: redirect, namespace: infra}
spec:
  parentRefs: [{name: gw}]
  rules:
  - filters:
    - type: RequestRedirect
      requestRedirect: {hostname: proved.example, statusCode: 302}
`

func TestEnvoyGatewayServesAndLeavesNothing(t *testing.T) {
	cluster := localtest.StartNode(t)
	c := connect(t, cluster)
	impl, err := implementation.Find("envoy-gateway")
	must(t, err)
	installer := &install.Installer{
		Config: c.Config, Images: &image.Builder{Progress: progress.New(os.Stderr)}, Run: "r1",
		LoadImage: func(ctx context.Context, img image.Image) error { return cluster.LoadImage(ctx, img.Tar) }, Progress: progress.New(os.Stderr),
	}
	before := inventory(t, c)
	t.Run("as it is", func(t *testing.T) { servesAndLeavesNothing(t, cluster, c, installer, impl, "", before) })
	t.Run("an image that is missing", func(t *testing.T) {
		broken := *installer
		broken.LoadImage = func(context.Context, image.Image) error { return nil }
		broken.Images = &image.Builder{Dir: t.TempDir(), Choice: image.PreferSource}
		broken.Deadline = 20 * time.Second
		started := time.Now()
		_, err := broken.Install(t.Context(), withOtherImages(t), "")
		if err == nil || !strings.Contains(err.Error(), "ErrImagePull") && !strings.Contains(err.Error(), "ImagePullBackOff") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(started); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		t.Logf("%v", err)
		sameInventory(t, c, before)
	})
}

// TestImplementationsLeaveNothing installs those that GATEMARK_IMPLEMENTATIONS
// names, with commas between them, in each of their variants, has them serve, and
// removes them: they take minutes to build.
func TestImplementationsLeaveNothing(t *testing.T) {
	named := os.Getenv("GATEMARK_IMPLEMENTATIONS")
	if named == "" {
		t.Skip("builds implementations from source: set GATEMARK_IMPLEMENTATIONS")
	}
	cluster := localtest.StartNode(t)
	c := connect(t, cluster)
	said := progress.New(os.Stderr)
	installer := &install.Installer{
		Config: c.Config, Images: &image.Builder{Progress: said}, Run: "r1", Progress: said,
		LoadImage: func(ctx context.Context, img image.Image) error { return cluster.LoadImage(ctx, img.Tar) },
	}
	before := inventory(t, c)
	for name := range strings.SplitSeq(named, ",") {
		impl, err := implementation.Find(name)
		must(t, err)
		for _, variant := range append([]implementation.Variant{{}}, impl.Variants...) {
			t.Run(name+"/"+variant.Name, func(t *testing.T) {
				servesAndLeavesNothing(t, cluster, c, installer, impl, variant.Name, before)
			})
		}
	}
}

func servesAndLeavesNothing(t *testing.T, cluster *local.Cluster, c *kube.Client, installer *install.Installer, impl *implementation.Implementation, variant string, before []string) {
	t.Helper()
	installed, err := installer.Install(t.Context(), impl, variant)
	must(t, err)
	effective, err := impl.WithVariant(variant)
	must(t, err)
	started := time.Now()
	serve(t, cluster, c, installed.GatewayClass)
	t.Logf("a Gateway served %s after it was asked for", time.Since(started).Round(100*time.Millisecond))
	imagesRun(t, c, effective, installed)
	started = time.Now()
	remove(t, c)
	t.Logf("its namespace was gone after %s", time.Since(started).Round(100*time.Millisecond))
	must(t, installer.Uninstall(t.Context(), installed))
	sameInventory(t, c, before)
}

// serve makes a Gateway and asks it through its LoadBalancer's address.
func serve(t *testing.T, cluster *local.Cluster, c *kube.Client, class string) {
	t.Helper()
	objects, err := kube.Render("served", served, map[string]string{"Class": class})
	must(t, err)
	must(t, kube.Apply(t.Context(), c, objects...))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	gw, err := kube.WaitGateway(ctx, c, client.ObjectKey{Namespace: "infra", Name: "gw"})
	must(t, err)
	asked := http.Client{
		Timeout: 5 * time.Second,
		// A kept connection would have the proxy drain for a minute.
		Transport:     &http.Transport{DialContext: localtest.Inside(t, cluster), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var location string
	for location == "" {
		response, err := asked.Get("http://" + kube.Addresses(gw)[0] + "/")
		if err == nil {
			location = response.Header.Get("Location")
			response.Body.Close()
		}
		if ctx.Err() != nil {
			t.Fatalf("no redirect from %v: %v", kube.Addresses(gw), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if location != "http://proved.example/" {
		t.Errorf("location %q", location)
	}
}

// imagesRun holds what the pods run to what was installed, where the data
// says that they are.
func imagesRun(t *testing.T, c *kube.Client, impl *implementation.Implementation, installed *install.Installed) {
	t.Helper()
	want := map[string]string{}
	for _, img := range installed.Images {
		for _, container := range img.Containers {
			want[container] = img.Ref
		}
		if img.Digest == "" || img.Origin == "" || img.From == "" {
			t.Errorf("image %+v", img)
		}
	}
	namespace, selector, err := impl.DataPlaneOf("infra", "gw")
	must(t, err)
	for _, where := range []struct {
		namespace string
		labels    client.MatchingLabels
	}{{impl.ControlPlane.Namespace, impl.ControlPlane.Selector}, {namespace, selector}} {
		pods := &unstructured.UnstructuredList{}
		pods.SetAPIVersion("v1")
		pods.SetKind("PodList")
		must(t, c.List(t.Context(), pods, client.InNamespace(where.namespace), where.labels))
		if len(pods.Items) == 0 {
			t.Errorf("no pods %v in namespace %s", where.labels, where.namespace)
		}
		for _, pod := range pods.Items {
			containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
			must(t, err)
			for _, each := range containers {
				container := each.(map[string]any)
				if name := container["name"].(string); container["image"] != want[name] {
					t.Errorf("pod %s: container %s runs %s, want %q", pod.GetName(), name, container["image"], want[name])
				}
			}
		}
	}
	replicas, err := kube.Replicas(t.Context(), c, namespace, labels.FormatLabels(selector), 80)
	must(t, err)
	if len(replicas) != 1 {
		t.Errorf("replicas %+v", replicas)
	}
}

// remove deletes what serve made, and waits until the data plane is gone.
func remove(t *testing.T, c *kube.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	gw := &gatewayv1.Gateway{}
	gw.Namespace, gw.Name = "infra", "gw"
	must(t, c.Delete(ctx, gw))
	// Where the proxy lives in the Gateway's namespace, it must be gone
	// before that: see emptyNamespaces.
	must(t, kube.WaitAll(ctx, c, "the end of the pods", []client.ListOption{client.InNamespace("infra")}, func(pods []*corev1.Pod) (bool, string) {
		return len(pods) == 0, fmt.Sprintf("%d left", len(pods))
	}))
	namespace := &corev1.Namespace{}
	namespace.Name = "infra"
	must(t, c.Delete(ctx, namespace))
	must(t, kube.WaitGone[corev1.Namespace](ctx, c, client.ObjectKeyFromObject(namespace)))
}

// withOtherImages is Envoy Gateway with images that no container runtime has.
func withOtherImages(t *testing.T) *implementation.Implementation {
	t.Helper()
	impl := withoutImages(t)
	program, err := os.Executable()
	must(t, err)
	whole, err := implementation.Find("envoy-gateway")
	must(t, err)
	for _, img := range whole.Images {
		img.Source = &image.Recipe{Name: "missing", Version: "v1", Files: []image.File{{Path: "/program", Executable: program}}}
		impl.Images = append(impl.Images, img)
	}
	return impl
}
