package e2e

import (
	"os"
	"strings"
	"testing"
)

// counted is a short run of one scenario on these implementations.
func (b *bench) counted(dir, implementations string) []string {
	return []string{"run", "--name", b.name, "--output-dir", dir, "--implementation", implementations, "--scenario", "attached-routes", "--repeats", "1",
		"--set", "attached-routes.routes=20", "--set", "attached-routes.hold=1s"}
}

// TestImplementationsOfOthers: what somebody else installed is found by its
// GatewayClass, measured, and left as it was.
func TestImplementationsOfOthers(t *testing.T) {
	if os.Getenv("GATEMARK_IMPLEMENTATIONS") == "" {
		t.Skip("a part of make test-implementations: set GATEMARK_IMPLEMENTATIONS")
	}
	b := newBench(t)
	if code, out := b.do(append(b.brief(t.TempDir()), "--keep")...); code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	// From here on it is somebody else's.
	for _, what := range []string{"gatewayclass/truth", "namespace/truth-system", "clusterrole/gatemark-truth", "clusterrolebinding/gatemark-truth"} {
		b.kubectl("label", what, "gatemark.dev/owner-", "gatemark.dev/run-", "gatemark.dev/part-")
	}
	for _, kind := range []string{"secrets", "deployments", "services", "serviceaccounts"} {
		b.kubectl("label", kind, "--all", "-n", "truth-system", "gatemark.dev/owner-", "gatemark.dev/run-", "gatemark.dev/part-")
	}
	pods := func() string {
		return b.kubectl("get", "pods", "-n", "truth-system", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{'\\n'}{end}")
	}
	before := pods()
	for _, asked := range []string{"truth", "class/truth"} {
		dir := t.TempDir()
		code, out := b.do(b.counted(dir, asked)...)
		if code != 0 && code != 4 {
			t.Fatalf("%s: exit code %d\n%s", asked, code, out)
		}
		d := document(t, dir)
		covered(t, d)
		if got := d.Run.Implementations[asked]; got.Installed || got.Name != "truth" || len(got.Images) == 0 || got.Images[0].Origin != "found" {
			t.Errorf("%s: the result says %+v", asked, got)
		}
		if after := pods(); after != before {
			t.Errorf("%s: the control plane's pods are not as they were:\n%s\nbefore:\n%s", asked, after, before)
		}
	}
}

// TestImplementationsInTwoVersions: two releases of one product and a control,
// in one run.
func TestImplementationsInTwoVersions(t *testing.T) {
	if os.Getenv("GATEMARK_IMPLEMENTATIONS") == "" {
		t.Skip("builds a second version from source: set GATEMARK_IMPLEMENTATIONS")
	}
	b := newBench(t)
	dir := t.TempDir()
	code, out := b.do(b.counted(dir, "envoy-gateway,envoy-gateway#2,envoy-gateway@v1.9.0")...)
	if code != 0 && code != 4 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	d := document(t, dir)
	covered(t, d)
	for treatment, version := range map[string]string{"envoy-gateway": "v1.9.1", "envoy-gateway#2": "v1.9.1", "envoy-gateway@v1.9.0": "v1.9.0"} {
		got := d.Run.Implementations[treatment]
		if got.Version != version || len(got.Images) != 2 || !strings.Contains(got.Images[0].Ref, "envoy-gateway:"+version) {
			t.Errorf("%s is %s with the images %+v", treatment, got.Version, got.Images)
		}
	}
	one, two := d.Run.Implementations["envoy-gateway"], d.Run.Implementations["envoy-gateway@v1.9.0"]
	if one.GatewayClass == two.GatewayClass || one.ControllerName == two.ControllerName || one.Images[1].Digest == two.Images[1].Digest {
		t.Errorf("they share a class, a controller or a proxy:\n%+v\n%+v", one, two)
	}
	nothingLeft(t, b)
}
