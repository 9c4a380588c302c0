package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// The policies against backends that fail for which implementations have an API
// of their own, if any. As published benchmarks have them: an endpoint that
// failed 5 times in a row is left alone for 10 s; each endpoint is asked for
// /healthz once a second, and left alone from the first failure to the first
// good answer.
const (
	OutlierDetection = "outlier-detection"
	HealthChecks     = "health-checks"
)

var policies = []string{OutlierDetection, HealthChecks}

// A Policy is what an implementation must be told for one of them.
type Policy struct {
	Name string `json:"name"`
	// Objects are the kinds that it is made of.
	Objects []Object `json:"objects"`
	// Template is a text/template of YAML documents, to be filled with a Policed.
	Template string `json:"template"`
}

// A Policed is what a policy is for: a Service, and the routes of a Gateway that
// lead to it.
type Policed struct {
	Name, Namespace, Gateway, Service string
	Routes                            []string
}

// Text is a policy's objects as YAML documents.
func (p *Policy) Text(of Policed) (string, error) {
	t, err := template.New(p.Name).Option("missingkey=error").Parse(p.Template)
	if err != nil {
		return "", fmt.Errorf("policy %s: %w", p.Name, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, of); err != nil {
		return "", fmt.Errorf("policy %s: %w", p.Name, err)
	}
	return text.String(), nil
}

// Check returns all problems of a policy.
func (p *Policy) Check() error {
	problems := checkObjects(p.Objects)
	if !slices.Contains(policies, p.Name) {
		problems = append(problems, fmt.Errorf("name: %q is not one of %s", p.Name, strings.Join(policies, ", ")))
	}
	of := Policed{Name: "sample", Namespace: "sample-namespace", Gateway: "sample-gateway", Service: "sample-service", Routes: []string{"sample-route"}}
	text, err := p.Text(of)
	switch {
	case err != nil:
		problems = append(problems, err)
	case !strings.Contains(text, of.Gateway) && !strings.Contains(text, of.Service) && !strings.Contains(text, of.Routes[0]):
		problems = append(problems, errors.New("template: what it makes names no Gateway, Service or route"))
	}
	return errors.Join(problems...)
}
