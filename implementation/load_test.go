package implementation

import (
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/implementation/broken"
	"github.com/gatemark/gatemark/internal/failure"
)

func TestTheCatalogueIsWhole(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("nothing in the catalogue")
	}
	for _, i := range all {
		for _, v := range i.Variants {
			if _, err := i.WithVariant(v.Name); err != nil {
				t.Errorf("%s, variant %s: %v", i.Name, v.Name, err)
			}
		}
	}
}

func TestInternalsAreInNoList(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Internal {
			t.Errorf("%s is in the list", i.Name)
		}
	}
	if i := find(t, "truth"); !i.Internal {
		t.Error("truth is not internal")
	}
	if _, err := Find("trut"); err == nil || strings.Contains(err.Error(), "truth") {
		t.Errorf("error %v", err)
	}
}

func find(t *testing.T, name string) *Implementation {
	t.Helper()
	i, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestEnvoyGatewaysData(t *testing.T) {
	i := find(t, "envoy-gateway")
	namespace, selector, err := i.DataPlaneOf("infra", "gw")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"gateway.envoyproxy.io/owning-gateway-namespace": "infra",
		"gateway.envoyproxy.io/owning-gateway-name":      "gw",
	}
	if diff := cmp.Diff(want, selector); diff != "" || namespace != "envoy-gateway-system" {
		t.Errorf("data plane in %s with (-want +got):\n%s", namespace, diff)
	}
	if got := i.Images[0].Source.Files[0].Go.Version; got != i.Version {
		t.Errorf("the control plane is built at %s, the implementation is %s", got, i.Version)
	}
	if len(i.Values()) != 0 {
		t.Errorf("the default mode sets values: %v", i.Values())
	}
}

func TestAVariantIsTheDefaultWithItsPatchAndValues(t *testing.T) {
	i := find(t, "envoy-gateway")
	v, err := i.WithVariant("gateway-namespace")
	if err != nil {
		t.Fatal(err)
	}
	namespace, _, err := v.DataPlaneOf("infra", "gw")
	if err != nil {
		t.Fatal(err)
	}
	if namespace != "infra" {
		t.Errorf("data plane in %s, want infra", namespace)
	}
	want := map[string]any{"config": map[string]any{"envoyGateway": map[string]any{"provider": map[string]any{
		"kubernetes": map[string]any{"deploy": map[string]any{"type": "GatewayNamespace"}},
	}}}}
	if diff := cmp.Diff(want, v.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if before, _, err := i.DataPlaneOf("infra", "gw"); err != nil || before != "envoy-gateway-system" {
		t.Errorf("the default has become %s, %v", before, err)
	}
	if v.Variant != "gateway-namespace" || i.Variant != "" {
		t.Errorf("variants %q and %q", v.Variant, i.Variant)
	}
}

func TestUnknownNamesAreTheUsersAndSayWhatIsNear(t *testing.T) {
	for name, near := range map[string]string{
		"envoygateway": "did you mean envoy-gateway?", "Envoy-Gateway": "did you mean envoy-gateway?", "apache": "",
	} {
		_, err := Find(name)
		if failure.CodeOf(err) != failure.Usage {
			t.Errorf("%s: error %v, code %d", name, err, failure.CodeOf(err))
		}
		if got := strings.Join(failure.Hints(err), ""); got != near {
			t.Errorf("%s: hint %q, want %q", name, got, near)
		}
	}
	_, err := find(t, "envoy-gateway").WithVariant("gateway-namespaces")
	if got := strings.Join(failure.Hints(err), ""); failure.CodeOf(err) != failure.Usage || got != "did you mean gateway-namespace?" {
		t.Errorf("variant: %v, hint %q", err, got)
	}
}

func TestBrokenFolders(t *testing.T) {
	whole, err := fs.Sub(folders, "envoygateway")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range broken.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			dir, err := c.Break(whole)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = Load(dir); err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.Want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not named in:\n%v", want, err)
				}
			}
		})
	}
}

func TestMergeLaysMapsIntoMapsAndTouchesNeither(t *testing.T) {
	base := map[string]any{"a": map[string]any{"b": 1, "c": 2}, "d": []any{1}}
	before := maps.Clone(base)
	got := merge(base, map[string]any{"a": map[string]any{"c": 3}, "d": []any{2}})
	want := map[string]any{"a": map[string]any{"b": 1, "c": 3}, "d": []any{2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, base); diff != "" {
		t.Errorf("the base has changed (-want +got):\n%s", diff)
	}
}

func TestValuesOfAPlanAreADeviation(t *testing.T) {
	i := find(t, "truth")
	same, err := i.WithValues(nil)
	if err != nil || same != i {
		t.Errorf("without values it is another one: %v", err)
	}
	changed, err := i.WithValues(map[string]any{"faults": map[string]any{"errorEvery": 7}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"faults": map[string]any{"errorEvery": 7}}
	if diff := cmp.Diff(want, changed.Values()); diff != "" || len(i.Values()) != 0 {
		t.Errorf("values, of the original %v (-want +got):\n%s", i.Values(), diff)
	}
	if n := len(changed.Deviations) - len(i.Deviations); n != 1 || !strings.Contains(changed.Deviations[len(changed.Deviations)-1].What, `{"faults":{"errorEvery":7}}`) {
		t.Errorf("deviations %+v", changed.Deviations)
	}
}
