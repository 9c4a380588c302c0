package dialect

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// A Dialect is one API.
type Dialect struct {
	// Name is what readers call it: Ingress, say.
	Name string `json:"name"`
	// Class is what its routes name, so that the implementation takes them.
	Class string `json:"class,omitempty"`
	// Filters are those that its routes can have.
	Filters []Filter `json:"filters,omitempty"`
	// Objects are the kinds that a route is made of, which whoever makes it must be
	// allowed to write.
	Objects []Object `json:"objects"`
	// Template is a text/template of YAML documents, Kubernetes objects, to be
	// filled with a Route.
	Template string `json:"template"`
}

// An Object is a kind as rules of access have it: networking.k8s.io, ingresses.
type Object struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
}

//go:embed gatewayapi.yaml
var gatewayAPI string

// GatewayAPI is the dialect of all who name no other.
var GatewayAPI = &Dialect{
	Name: "Gateway API", Filters: AllFilters, Objects: []Object{{"gateway.networking.k8s.io", "httproutes"}}, Template: gatewayAPI,
}

// Lacks are the filters of a route that the dialect does not have.
func (d *Dialect) Lacks(r Route) []Filter {
	return slices.DeleteFunc(r.filters(), func(f Filter) bool { return slices.Contains(d.Filters, f) })
}

// Text is a route's objects as YAML documents.
func (d *Dialect) Text(r Route) (string, error) {
	if lacks := d.Lacks(r); len(lacks) > 0 {
		return "", fmt.Errorf("route %s: the dialect %s has no filter %v", r.Name, d.Name, lacks)
	}
	t, err := template.New(d.Name).Option("missingkey=error").Parse(d.Template)
	if err != nil {
		return "", fmt.Errorf("dialect %s: %w", d.Name, err)
	}
	r.Class = d.Class
	var text strings.Builder
	if err := t.Execute(&text, r); err != nil {
		return "", fmt.Errorf("dialect %s: %w", d.Name, err)
	}
	return text.String(), nil
}

// Check returns all problems of a dialect: of its own, and of what it makes of
// a plain route, of one for HTTPS, and of each filter.
func (d *Dialect) Check() error {
	var problems []error
	if d.Name == "" {
		problems = append(problems, errors.New("name: missing"))
	}
	problems = append(problems, checkObjects(d.Objects)...)
	if strings.TrimSpace(d.Template) == "" {
		return errors.Join(append(problems, errors.New("template: empty"))...)
	}
	for _, f := range d.Filters {
		if !slices.Contains(AllFilters, f) {
			problems = append(problems, fmt.Errorf("filters: %q is not one of %v", f, AllFilters))
		}
	}
	plain, err := d.Text(sample())
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	for _, part := range []string{sample().Host, sample().Service} {
		if !strings.Contains(plain, part) {
			problems = append(problems, fmt.Errorf("template: what it makes of a route does not contain %s", part))
		}
	}
	secure := sample()
	secure.Secret, secure.Listener = "certificate", "https"
	if err := d.differs(plain, secure, "a certificate"); err != nil {
		problems = append(problems, err)
	}
	for _, f := range d.Filters {
		with := sample()
		with.add(f)
		if len(with.filters()) == 0 {
			continue // it is not one, which was said above
		}
		if err := d.differs(plain, with, "the filter "+string(f)); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func checkObjects(all []Object) (problems []error) {
	if len(all) == 0 {
		problems = append(problems, errors.New("objects: missing"))
	}
	for i, o := range all {
		if o.Group == "" || o.Resource == "" || o.Resource != strings.ToLower(o.Resource) {
			problems = append(problems, fmt.Errorf("objects[%d]: want a group and a resource such as networking.k8s.io, ingresses, and not %q, %q", i, o.Group, o.Resource))
		}
	}
	return problems
}

// differs is an error where a route is told as one without what it has.
func (d *Dialect) differs(plain string, r Route, what string) error {
	text, err := d.Text(r)
	if err == nil && text == plain {
		err = fmt.Errorf("template: it makes the same of a route with %s as of one without", what)
	}
	return err
}

func sample() Route {
	return Route{
		Name: "sample", Namespace: "sample-namespace", Gateway: "gateway", Listener: "http", Host: "sample.gatemark.test",
		Service: "sample-service", Port: 80,
	}
}

func (r *Route) add(f Filter) {
	switch f {
	case RequestHeader:
		r.RequestHeader = [][2]string{{"Sample-Request", "of a request"}}
	case CORS:
		r.CORS = "https://elsewhere.gatemark.test"
	case ResponseHeader:
		r.ResponseHeader = [][2]string{{"Sample-Response", "of an answer"}}
	case Rewrite:
		r.Rewrite = "/rewritten"
	}
}
