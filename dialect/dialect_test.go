package dialect

import (
	"strings"
	"testing"
)

var objects = []Object{{"networking.k8s.io", "ingresses"}}

const ingress = `
metadata: {name: {{.Name}}, namespace: {{.Namespace}}{{if .CORS}}, annotations: {cors: {{.CORS}}}{{end}}}
spec:
  ingressClassName: {{.Class}}
  {{- if .Secret}}
  tls: [{hosts: [{{.Host}}], secretName: {{.Secret}}}]
  {{- end}}
  rules: [{host: {{.Host}}, service: {{.Service}}}]
`

func TestCheck(t *testing.T) {
	if err := GatewayAPI.Check(); err != nil {
		t.Errorf("the Gateway API: %v", err)
	}
	for _, c := range []struct {
		name string
		Dialect
		want []string // each a part of the error; none for no error
	}{
		{"good", Dialect{Name: "Ingress", Objects: objects, Class: "c", Filters: []Filter{CORS}, Template: ingress}, nil},
		{"nothing", Dialect{}, []string{"name: missing", "objects: missing", "template: empty"}},
		{"a filter that it ignores, one that there is not", Dialect{Name: "Ingress", Objects: objects, Filters: []Filter{Rewrite, "mirror"}, Template: ingress},
			[]string{"the same of a route with the filter rewrite", `"mirror" is not one of`}},
		{"no TLS", Dialect{Name: "Ingress", Objects: objects, Template: "{{.Host}} {{.Service}}"}, []string{"the same of a route with a certificate"}},
		{"no host", Dialect{Name: "Ingress", Objects: objects, Template: "{{.Secret}}"}, []string{"does not contain sample.gatemark.test", "does not contain sample-service"}},
		{"no field", Dialect{Name: "Ingress", Objects: objects, Template: "{{.Hots}}"}, []string{"Hots"}},
		{"an object by its kind", Dialect{Name: "Ingress", Objects: []Object{{"networking.k8s.io", "Ingress"}}, Template: ingress}, []string{`objects[0]: want a group`}},
		{"no template", Dialect{Name: "Ingress", Objects: objects, Template: "{{if}}"}, []string{"missing value for if"}},
	} {
		err := c.Check()
		if len(c.want) == 0 && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, which does not say %q", c.name, err, part)
			}
		}
	}
}

func TestTextNamesTheClass(t *testing.T) {
	text, err := (&Dialect{Name: "Ingress", Objects: objects, Class: "mine", Template: ingress}).Text(sample())
	if err != nil || !strings.Contains(text, "ingressClassName: mine") {
		t.Errorf("%s, %v", text, err)
	}
}
