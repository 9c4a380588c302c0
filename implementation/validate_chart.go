package implementation

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
)

var placeholder = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validateBefore holds each earlier chart to the same rules, and tells the
// releases apart.
func (i *Implementation) validateBefore(p *problems) {
	seen := map[string]bool{i.Release.Name: true}
	for n, c := range i.Before {
		at := fmt.Sprintf("before[%d]", n)
		p.label(at+".release", c.Release)
		if seen[c.Release] {
			p.add(at+".release", "%s is there twice", c.Release)
		}
		seen[c.Release] = true
		c.Chart.validate(p, at+".chart")
	}
}

func (c Chart) validate(p *problems, at string) {
	c.validateOrigin(p, at)
	if len(c.Manifests) > 0 {
		c.validateManifests(p, at)
	} else if p.need(at+".path", c.Path) && !fs.ValidPath(c.Path) {
		p.add(at+".path", "%q is not a plain path inside the module", c.Path)
	}
	if c.ValuesTemplate != "" && !fs.ValidPath(c.ValuesTemplate) {
		p.add(at+".valuesTemplate", "%q is not a plain path inside the chart", c.ValuesTemplate)
	}
	if c.ValuesTemplate == "" && len(c.Placeholders) > 0 {
		p.add(at+".placeholders", "given without a valuesTemplate to fill in")
	}
	for name := range c.Placeholders {
		if !placeholder.MatchString(name) {
			p.add(at+".placeholders", "%q is not a placeholder's name", name)
		}
	}
}

// validateOrigin checks where the chart comes from.
func (c Chart) validateOrigin(p *problems, at string) {
	switch {
	case c.Module != "" && c.Repository != "":
		p.add(at+".repository", "given beside a module: a chart comes from one of them")
	case c.Module != "":
		p.version(at+".version", c.Version)
	case c.Repository != "":
		p.need(at+".version", c.Version)
		if u, err := url.Parse(c.Repository); err != nil || u.Scheme != "oci" && u.Scheme != "https" || u.Host == "" {
			p.add(at+".repository", "%q is not an address such as oci://... or https://...", c.Repository)
		}
		if len(c.Manifests) > 0 || c.ValuesTemplate != "" {
			p.add(at+".repository", "given with manifests or valuesTemplate: a repository holds finished charts")
		}
	case c.Version != "":
		p.add(at+".version", "given without a module or repository that it is of")
	}
}

func (c Chart) validateManifests(p *problems, at string) {
	if c.Path != "" || c.ChartVersion != "" || c.AppVersion != "" || c.ValuesTemplate != "" {
		p.add(at+".manifests", "given with fields that are about a Helm chart: path, chartVersion, appVersion or valuesTemplate")
	}
	for n, pattern := range c.Manifests {
		if _, err := path.Match(pattern, ""); err != nil || !fs.ValidPath(pattern) {
			p.add(fmt.Sprintf("%s.manifests[%d]", at, n), "%q is not a pattern of plain paths inside the module", pattern)
		}
	}
}
