package implementation

import (
	"bytes"
	"fmt"
	"text/template"
)

// Vars are what the templates in an implementation's data can use.
type Vars struct {
	// Version is the implementation's, with its v: v1.9.1.
	Version string
	Release Release
	// Gateway is the one that a data plane belongs to.
	Gateway Object
}

// An Object is named by a namespace and a name.
type Object struct{ Namespace, Name string }

func (v Vars) expand(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return "", err
	}
	return out.String(), nil
}

// walk replaces every string in a decoded JSON value with what replace makes
// of it, and gives each one's path.
func walk(path string, value any, replace func(path, text string) string) any {
	switch v := value.(type) {
	case string:
		return replace(path, v)
	case []any:
		for i := range v {
			v[i] = walk(fmt.Sprintf("%s[%d]", path, i), v[i], replace)
		}
	case map[string]any:
		for key := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			v[key] = walk(at, v[key], replace)
		}
	}
	return value
}

// DataPlaneOf is where the data plane of one Gateway is: its namespace and
// the labels of its pods, Services and workloads.
func (i *Implementation) DataPlaneOf(namespace, name string) (string, map[string]string, error) {
	vars := i.vars()
	vars.Gateway = Object{Namespace: namespace, Name: name}
	in, err := vars.expand(i.DataPlane.Namespace)
	if err != nil {
		return "", nil, fmt.Errorf("implementation %s: dataPlane.namespace: %w", i.Name, err)
	}
	selector := map[string]string{}
	for key, value := range i.DataPlane.Selector {
		if selector[key], err = vars.expand(value); err != nil {
			return "", nil, fmt.Errorf("implementation %s: dataPlane.selector.%s: %w", i.Name, key, err)
		}
	}
	return in, selector, nil
}

func (i *Implementation) vars() Vars { return Vars{Version: i.Version, Release: i.Release} }
