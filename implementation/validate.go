package implementation

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

var semantic = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// problems collects what is wrong, each with its place in the file.
type problems []error

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, fmt.Errorf(path+": "+format, args...))
}

func (p *problems) need(path, value string) bool {
	if value == "" {
		p.add(path, "missing")
	}
	return value != ""
}

func (p *problems) label(path, value string) {
	if !p.need(path, value) {
		return
	}
	if said := validation.IsDNS1123Label(value); len(said) > 0 {
		p.add(path, "%q: %s", value, said[0])
	}
}

func (p *problems) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add(path, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

func (p *problems) version(path, value string) {
	if p.need(path, value) && !semantic.MatchString(value) {
		p.add(path, "%q is not a version such as v1.2.3", value)
	}
}

func (p *problems) webPage(path, value string) {
	if !p.need(path, value) {
		return
	}
	if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" {
		p.add(path, "%q is not an https address", value)
	}
}

// Validate returns every problem, each with its path.
func (i *Implementation) Validate() []error {
	var p problems
	if i.APIVersion != APIVersion {
		p.add("apiVersion", "%q is not %s", i.APIVersion, APIVersion)
	}
	if i.Kind != Kind {
		p.add("kind", "%q is not %s", i.Kind, Kind)
	}
	p.label("name", i.Name)
	p.need("title", i.Title)
	p.version("version", i.Version)
	i.Project.validate(&p)
	p.version("gatewayAPI.version", i.GatewayAPI.Version)
	p.oneOf("gatewayAPI.channel", i.GatewayAPI.Channel, "standard", "experimental")
	if i.HasGateways() {
		i.GatewayClass.validate(&p)
	}
	i.validateDialect(&p)
	i.validatePolicies(&p)
	i.validateBefore(&p)
	i.Chart.validate(&p, "chart")
	p.label("release.name", i.Release.Name)
	p.label("release.namespace", i.Release.Namespace)
	i.validateImages(&p)
	i.ControlPlane.validate(&p)
	i.validateGatewayControlPlane(&p)
	i.validateDataPlane(&p)
	p.sentences("", i.Quirks, i.Deviations)
	for n, l := range i.Leftovers {
		at := fmt.Sprintf("leftovers[%d]", n)
		p.need(at+".apiVersion", l.APIVersion)
		p.need(at+".kind", l.Kind)
		p.need(at+".name", l.Name)
	}
	i.validateVariants(&p)
	return p
}

func (o Project) validate(p *problems) {
	p.webPage("project.url", o.URL)
	p.webPage("project.repository", o.Repository)
	p.oneOf("project.openSource", o.OpenSource, "yes", "no", "partly")
	p.need("project.license", o.License)
	p.need("project.dataPlaneProxy", o.DataPlaneProxy)
	p.need("project.dataPlaneProxyVersion", o.DataPlaneProxyVersion)
	if len(o.Vendors) == 0 {
		p.add("project.vendors", "missing")
	}
}

func (g GatewayClass) validate(p *problems) {
	p.label("gatewayClass.name", g.Name)
	if p.need("gatewayClass.controllerName", g.ControllerName) {
		if domain, path, ok := strings.Cut(g.ControllerName, "/"); !ok || path == "" || len(validation.IsDNS1123Subdomain(domain)) > 0 {
			p.add("gatewayClass.controllerName", "%q is not domain/path", g.ControllerName)
		}
	}
	if g.Parameters == nil {
		return
	}
	if g.PreCreated {
		p.add("gatewayClass.parameters", "cannot be given for a class that the installation brings")
	}
	metadata, _ := g.Parameters["metadata"].(map[string]any)
	for _, field := range []struct {
		path  string
		value any
	}{
		{"apiVersion", g.Parameters["apiVersion"]}, {"kind", g.Parameters["kind"]}, {"metadata.name", metadata["name"]},
	} {
		if text, _ := field.value.(string); text == "" {
			p.add("gatewayClass.parameters."+field.path, "missing")
		}
	}
}

func (i *Implementation) validateImages(p *problems) {
	roles := map[string]bool{}
	for n, img := range i.Images {
		at := fmt.Sprintf("images[%d]", n)
		p.label(at+".role", img.Role)
		if roles[img.Role] {
			p.add(at+".role", "%s is there twice", img.Role)
		}
		roles[img.Role] = true
		if img.Official == "" && img.Source == nil {
			p.add(at, "needs official, source or both")
		}
		if img.Source != nil {
			for _, problem := range img.Source.Validate() {
				*p = append(*p, fmt.Errorf("%s.source.%w", at, problem))
			}
		}
		if len(img.Values) == 0 {
			p.add(at+".values", "missing: the chart must be told the image's name")
		}
		for m, v := range img.Values {
			p.need(fmt.Sprintf("%s.values[%d].path", at, m), v.Path)
			p.oneOf(fmt.Sprintf("%s.values[%d].part", at, m), cmp.Or(v.Part, "ref"), "ref", "repository", "tag")
		}
		if len(img.Containers) == 0 {
			p.add(at+".containers", "missing")
		}
		if img.WhenBuilt != nil {
			img.WhenBuilt.validate(p, at+".whenBuilt")
		}
	}
	for _, role := range []string{"control-plane", "data-plane"} {
		if len(i.Images) > 0 && !roles[role] && !roles["gateway"] {
			p.add("images", "none has the role %s", role)
		}
	}
}

func (w WhenBuilt) validate(p *problems, at string) {
	if w.Title == "" && w.Values == "" && len(w.Quirks) == 0 && len(w.Deviations) == 0 {
		p.add(at, "says nothing: needs title, values, quirks or deviations")
	}
	p.sentences(at+".", w.Quirks, w.Deviations)
}

// sentences are what a reader is told.
func (p *problems) sentences(at string, quirks []string, deviations []Deviation) {
	for n, d := range deviations {
		p.need(fmt.Sprintf("%sdeviations[%d].what", at, n), d.What)
		p.need(fmt.Sprintf("%sdeviations[%d].why", at, n), d.Why)
	}
	for n, q := range quirks {
		p.need(fmt.Sprintf("%squirks[%d]", at, n), q)
	}
}

func (c ControlPlane) validate(p *problems) {
	p.label("controlPlane.namespace", c.Namespace)
	if len(c.Selector) == 0 {
		p.add("controlPlane.selector", "missing: it would select every pod of the namespace")
	}
	if len(c.Workloads) == 0 {
		p.add("controlPlane.workloads", "missing")
	}
	for n, w := range c.Workloads {
		p.oneOf(fmt.Sprintf("controlPlane.workloads[%d].kind", n), w.Kind, workloadKinds...)
		p.label(fmt.Sprintf("controlPlane.workloads[%d].name", n), w.Name)
	}
	c.Metrics.validate(p, "controlPlane.metrics")
}

func (i *Implementation) validateGatewayControlPlane(p *problems) {
	own := i.ControlPlane.PerGateway
	if own == nil {
		return
	}
	namespace, one, err := i.ControlPlaneOf("gateway-namespace-a", "gateway-name-a")
	if err != nil {
		p.add("controlPlane.perGateway", "%w", err)
		return
	}
	_, other, err := i.ControlPlaneOf("gateway-namespace-a", "gateway-name-b")
	if err != nil {
		p.add("controlPlane.perGateway", "%w", err)
		return
	}
	p.label("controlPlane.perGateway.namespace", namespace)
	if fmt.Sprint(one) == fmt.Sprint(other) {
		p.add("controlPlane.perGateway.selector", "does not tell Gateways apart: two in one namespace have %v", one)
	}
	own.Metrics.validate(p, "controlPlane.perGateway.metrics")
}

var workloadKinds = []string{"Deployment", "DaemonSet", "StatefulSet"}

func (e *Endpoint) validate(p *problems, at string) {
	if e == nil {
		return
	}
	p.port(at+".port", e.Port)
	if !strings.HasPrefix(e.Path, "/") {
		p.add(at+".path", "%q does not begin with /", e.Path)
	}
}

func (p *problems) port(path string, port int) {
	if port < 1 || port > 65535 {
		p.add(path, "%d is not a port", port)
	}
}

func (i *Implementation) validateDataPlane(p *problems) {
	d := i.DataPlane
	// Two Gateways show whether what should differ between them does.
	oneNamespace, one, err := i.DataPlaneOf("gateway-namespace-a", "gateway-name-a")
	if err != nil {
		p.add("dataPlane", "%w", err)
		return
	}
	_, other, err := i.DataPlaneOf("gateway-namespace-a", "gateway-name-b")
	if err != nil {
		p.add("dataPlane", "%w", err)
		return
	}
	p.label("dataPlane.namespace", oneNamespace)
	if len(d.Selector) == 0 {
		p.add("dataPlane.selector", "missing: it would select every pod of the namespace")
	} else if same := fmt.Sprint(one) == fmt.Sprint(other); same == d.PerGateway {
		p.add("dataPlane.perGateway", "is %t, but the selector says otherwise: two Gateways in one namespace have %v and %v", d.PerGateway, one, other)
	}
	p.need("dataPlane.container", d.Container)
	p.oneOf("dataPlane.workloadKind", d.WorkloadKind, workloadKinds...)
	d.Metrics.validate(p, "dataPlane.metrics")
	if d.Admin != nil {
		p.need("dataPlane.admin.format", d.Admin.Format)
		p.port("dataPlane.admin.port", d.Admin.Port)
	}
}

func (i *Implementation) validateVariants(p *problems) {
	seen := map[string]bool{}
	for n, v := range i.Variants {
		at := fmt.Sprintf("variants[%d]", n)
		p.label(at+".name", v.Name)
		p.need(at+".title", v.Title)
		p.need(at+".why", v.Why)
		if v.Values == "" && v.Patch == nil {
			p.add(at, "changes nothing: needs values, patch or both")
		}
		if seen[v.Name] {
			p.add(at+".name", "%s is there twice", v.Name)
		}
		seen[v.Name] = true
	}
}
