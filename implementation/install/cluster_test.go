package install_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/kube"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// whole skips a test that installs real charts, which takes half a minute.
func whole(t *testing.T) {
	t.Helper()
	if !localtest.E2E() {
		t.Skip("installs into a real API server: set GATEMARK_E2E=1")
	}
}

func connect(t *testing.T, c *local.Cluster) *kube.Client {
	t.Helper()
	config, err := c.RESTConfig()
	must(t, err)
	client, err := kube.New(t.Context(), config)
	must(t, err)
	return client
}

// clusterWide are the kinds that an uninstallation must leave as they were.
var clusterWide = []schema.GroupVersionResource{
	{Version: "v1", Resource: "namespaces"},
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	// Every namespace's, so that a namespace that stays is seen into.
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "pods"},
}

// inventory lists a cluster's objects of these kinds.
func inventory(t *testing.T, c *kube.Client) []string {
	t.Helper()
	var all []string
	for _, kind := range clusterWide {
		list, err := c.Metadata.Resource(kind).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, obj := range list.Items {
			all = append(all, fmt.Sprintf("%s %s/%s", kind.Resource, obj.Namespace, obj.Name))
		}
	}
	return all
}

// sameInventory waits a moment for the cluster's own controllers, then
// compares.
func sameInventory(t *testing.T, c *kube.Client, before []string) {
	t.Helper()
	var diff string
	for range 50 {
		if diff = cmp.Diff(before, inventory(t, c)); diff == "" {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Errorf("the cluster is not as it was (-before +after):\n%s", diff)
}

// withoutImages is Envoy Gateway with the images that its chart names.
func withoutImages(t *testing.T) *implementation.Implementation {
	t.Helper()
	impl, err := implementation.Find("envoy-gateway")
	must(t, err)
	bare := *impl
	bare.Images = nil
	return &bare
}

// A cluster without nodes runs no pod, so the chart's hook never ends.
func TestAChartThatFailsSaysHowFarItGotAndLeavesNothing(t *testing.T) {
	whole(t)
	cluster := localtest.Start(t)
	client := connect(t, cluster)
	before := inventory(t, client)
	installer := &install.Installer{Config: client.Config, Images: &image.Builder{Dir: t.TempDir()}, Run: "r1", Deadline: 3 * time.Second}

	_, err := installer.Install(t.Context(), withoutImages(t), "")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"installing envoy-gateway v1.9.1: chart gateway-helm v1.9.1", "pre-install", "pod eg-gateway-helm-certgen", "Pending"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	sameInventory(t, client, before)
}

func TestCleanRemovesWhatACrashLeft(t *testing.T) {
	whole(t)
	cluster := localtest.Start(t)
	client := connect(t, cluster)
	before := inventory(t, client)
	installer := &install.Installer{Config: client.Config, Images: &image.Builder{Dir: t.TempDir()}, Run: "r1", Deadline: 2 * time.Second, Retain: true}
	if _, err := installer.Install(t.Context(), withoutImages(t), ""); err == nil {
		t.Fatal("no error")
	}
	if cmp.Equal(before, inventory(t, client)) {
		t.Fatal("nothing was left: the test has nothing to clean")
	}
	everythingIsOurs(t, client, before)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, (&install.Installer{Config: client.Config}).Clean(ctx))
	sameInventory(t, client, before)
	must(t, (&install.Installer{Config: client.Config}).Clean(ctx)) // nothing to do is no error
}

// everythingIsOurs holds the promise that an object of ours can be told by
// its labels, for the kinds that stay behind in a cluster.
func everythingIsOurs(t *testing.T, c *kube.Client, before []string) {
	t.Helper()
	known := map[string]bool{}
	for _, line := range before {
		known[line] = true
	}
	ours := labels.SelectorFromSet(kube.OwnedBy("r1", ""))
	for _, kind := range clusterWide[:10] {
		list, err := c.Metadata.Resource(kind).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		for _, obj := range list.Items {
			line := fmt.Sprintf("%s %s/%s", kind.Resource, obj.Namespace, obj.Name)
			implied := kind.Resource == "apiservices" // the API server makes these of definitions
			if !known[line] && !implied && !ours.Matches(labels.Set(obj.Labels)) {
				t.Errorf("%s does not carry our labels: %v", line, obj.Labels)
			}
		}
	}
}

func TestAReleaseOfOthersIsNotTouched(t *testing.T) {
	whole(t)
	cluster := localtest.Start(t)
	client := connect(t, cluster)
	installer := &install.Installer{Config: client.Config, Images: &image.Builder{Dir: t.TempDir()}, Run: "r1", Deadline: 2 * time.Second, Retain: true}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	releases := func() []metav1.PartialObjectMetadata {
		list, err := client.Metadata.Resource(secrets).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
		must(t, err)
		return list.Items
	}
	// Pods never start here, so that it fails; on a slow machine perhaps before
	// there is a release.
	for ; len(releases()) == 0; installer.Deadline *= 2 {
		if installer.Deadline > time.Minute {
			t.Fatal("no release")
		}
		if _, err := installer.Install(t.Context(), withoutImages(t), ""); err == nil {
			t.Fatal("no error")
		}
	}
	// From here on the release is somebody else's.
	for _, s := range releases() {
		_, err := client.Metadata.Resource(secrets).Namespace(s.Namespace).Patch(t.Context(), s.Name, "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"gatemark.dev/owner":null}}}`), metav1.PatchOptions{})
		must(t, err)
	}
	before := inventory(t, client)
	_, err := installer.Install(t.Context(), withoutImages(t), "")
	if err == nil || !strings.Contains(err.Error(), "release envoy-gateway-system/eg already, which gatemark did not install") {
		t.Errorf("error %v", err)
	}
	sameInventory(t, client, before)
}
