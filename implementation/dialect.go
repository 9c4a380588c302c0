package implementation

import (
	"fmt"
	"io/fs"
	"reflect"

	"github.com/gatemark/gatemark/dialect"
)

// A Dialect is the API in which the implementation is told its routes, where
// that is another than the Gateway API.
type Dialect struct {
	// Name is what readers call it: Ingress, say.
	Name string `json:"name"`
	// Class is what routes name, so that the implementation takes them.
	Class string `json:"class,omitempty"`
	// Filters are those that its routes can have: requestHeader, cors,
	// responseHeader, rewrite.
	Filters []dialect.Filter `json:"filters,omitempty"`
	// Objects are the kinds that a route is made of, by group and resource.
	Objects []dialect.Object `json:"objects"`
	// Template is a file of this folder: Kubernetes objects, filled with a
	// dialect.Route as text/template does.
	Template string `json:"template"`

	text string
}

// Dialect is that of the implementation's routes, nil for the Gateway API.
func (i *Implementation) Dialect() *dialect.Dialect {
	if i.RouteDialect == nil {
		return nil
	}
	d := i.RouteDialect
	return &dialect.Dialect{Name: d.Name, Class: d.Class, Filters: d.Filters, Objects: d.Objects, Template: d.text}
}

// HasGateways: it serves Gateways of a GatewayClass. What does not speaks a
// dialect, and answers at its data plane's Service.
func (i *Implementation) HasGateways() bool {
	return i.RouteDialect == nil || !reflect.ValueOf(i.GatewayClass).IsZero()
}

func (d *Dialect) read(folder fs.FS) error {
	text, err := fs.ReadFile(folder, d.Template)
	if err != nil {
		return fmt.Errorf("dialect.template: %w", err)
	}
	d.text = string(text)
	return nil
}

func (i *Implementation) validateDialect(p *problems) {
	d := i.Dialect()
	if d == nil || d.Template == "" { // of which reading the file has told
		return
	}
	if err := d.Check(); err != nil {
		p.add("dialect", "%v", err)
	}
}
