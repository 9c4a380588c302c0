package implementation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/failure"
)

func TestAKnownVersionHasItsOwnProxy(t *testing.T) {
	other, err := find(t, "envoy-gateway").At("v1.9.0")
	if err != nil {
		t.Fatal(err)
	}
	if other.Version != "v1.9.0" || other.Chart.Version != "v1.9.0" || other.Chart.Placeholders["GatewayImage"] != "envoyproxy/gateway:v1.9.0" {
		t.Errorf("version %s, chart %+v", other.Version, other.Chart)
	}
	control, data := other.Images[0], other.Images[1]
	if got := control.Source.Files[0].Go; got.Version != "v1.9.0" || !strings.Contains(got.LDFlags, "=v1.9.0") {
		t.Errorf("the control plane is built as %+v", got)
	}
	if data.Official != "envoyproxy/envoy:distroless-v1.39.0" || data.Source.Files[0].Wheel.Version != "1.39.0" {
		t.Errorf("the proxy is %s, wheel %+v", data.Official, data.Source.Files[0].Wheel)
	}
	if before := find(t, "envoy-gateway"); len(other.Deviations) != len(before.Deviations) {
		t.Errorf("deviations %+v", other.Deviations)
	}
}

func TestAnUnknownVersionSaysWhatIsNotKnown(t *testing.T) {
	other, err := find(t, "envoy-gateway").At("v1.7.0")
	if err != nil {
		t.Fatal(err)
	}
	last := other.Deviations[len(other.Deviations)-1]
	if !strings.Contains(last.What, "the proxy is Envoy v1.39.1, whatever v1.7.0 runs") || other.Images[0].Source.Version != "v1.7.0" {
		t.Errorf("deviation %+v, image %+v", last, other.Images[0].Source)
	}
	// It stays with a variant of it.
	variant, err := other.WithVariant("gateway-namespace")
	if err != nil {
		t.Fatal(err)
	}
	if variant.Deviations[len(variant.Deviations)-1] != last || variant.Version != "v1.7.0" {
		t.Errorf("version %s, deviations %+v", variant.Version, variant.Deviations)
	}
	if _, err := other.At("latest"); err == nil || !strings.Contains(err.Error(), `"latest" is not a version`) {
		t.Errorf("error %v", err)
	}
}

// TestAVersionThatChangesNothingIsRefused: the same would be measured under
// another name.
func TestAVersionThatChangesNothingIsRefused(t *testing.T) {
	_, err := find(t, "istio").At("v1.30.0")
	if err == nil || !strings.Contains(err.Error(), "are written down for v1.31.0-eed52ebb66ad alone, and do not follow its version") {
		t.Errorf("error %v", err)
	}
}

func TestASecondVersionSharesNothingWithTheFirst(t *testing.T) {
	first := find(t, "envoy-gateway")
	second, err := first.WithVariant("gateway-namespace")
	if err != nil {
		t.Fatal(err)
	}
	if second, err = second.InstalledBeside("v1-9-0"); err != nil {
		t.Fatal(err)
	}
	if first.Part() != "envoy-gateway" || second.Part() != "envoy-gateway-v1-9-0" || first.SetFrom() || !second.SetFrom() {
		t.Errorf("parts %s and %s", first.Part(), second.Part())
	}
	if second.Release.Namespace != "envoy-gateway-v1-9-0" || second.ControlPlane.Namespace != second.Release.Namespace || second.Variant != "gateway-namespace" {
		t.Errorf("release %+v, control plane in %s", second.Release, second.ControlPlane.Namespace)
	}
	gateway := second.Values()["config"].(map[string]any)["envoyGateway"].(map[string]any)
	if name := gateway["gateway"].(map[string]any)["controllerName"]; name != second.GatewayClass.ControllerName || name == first.GatewayClass.ControllerName {
		t.Errorf("the chart is told %v, the class says %s", name, second.GatewayClass.ControllerName)
	}
	if gateway["provider"] == nil {
		t.Error("the variant's values are lost")
	}
	if n := len(second.Deviations) - len(first.Deviations); n != 2 {
		t.Errorf("deviations %+v", second.Deviations)
	}
	if _, err := find(t, "contour").InstalledBeside("x"); err == nil || !strings.Contains(err.Error(), "do not fit in one cluster") {
		t.Errorf("error %v", err)
	}
}

func TestACheckoutTakesTheModulesPlace(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	i := find(t, "envoy-gateway")
	if _, err := i.WithCheckout(dir); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("an empty directory: %v", err)
	}
	write("module example.org/other\n")
	if _, err := i.WithCheckout(dir); failure.CodeOf(err) != failure.Usage || !strings.Contains(err.Error(), "holds Go module example.org/other, which nothing of it is made from") {
		t.Errorf("another module: %v", err)
	}
	write("module github.com/envoyproxy/gateway\n")
	got, err := i.WithCheckout(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Checkout.Dir != dir || got.Images[0].Source.Files[0].Go.Checkout != dir || got.Images[0].Official != "" {
		t.Errorf("chart from %q, program %+v, official image %q", got.Checkout.Dir, got.Images[0].Source.Files[0].Go, got.Images[0].Official)
	}
	if i.Images[0].Source.Files[0].Go.Checkout != "" || got.Images[1].Official == "" {
		t.Error("more than the checkout's own was changed")
	}
}
