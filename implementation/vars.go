package implementation

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"
)

// Vars are what the templates in an implementation's data can use.
type Vars struct {
	// Version is the implementation's, with its v: v1.9.1.
	Version string
	Release Release
	// Proxy is the data plane's proxy's version, with its v: v1.39.1.
	Proxy string
	// Beside is the label of an installation beside another one.
	Beside string
	// Gateway is the one that a data plane belongs to.
	Gateway Object
}

// An Object is named by a namespace and a name.
type Object struct{ Namespace, Name string }

// functions are what templates can call.
var functions = template.FuncMap{
	// bare is a version without its v, as wheels are numbered.
	"bare": func(version string) string { return strings.TrimPrefix(version, "v") },
}

func (v Vars) expand(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(functions).Parse(text)
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
// of it, and gives each one's path. What lies at a path to skip stays.
func walk(path string, value any, skip func(path string) bool, replace func(path, text string) string) any {
	if skip(path) {
		return value
	}
	switch v := value.(type) {
	case string:
		return replace(path, v)
	case []any:
		for i := range v {
			v[i] = walk(fmt.Sprintf("%s[%d]", path, i), v[i], skip, replace)
		}
	case map[string]any:
		for key := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			v[key] = walk(at, v[key], skip, replace)
		}
	}
	return value
}

// DataPlaneOf is where the data plane of one Gateway is: its namespace and
// the labels of its pods, Services and workloads.
func (i *Implementation) DataPlaneOf(namespace, name string) (string, map[string]string, error) {
	return i.placeOf("dataPlane", i.DataPlane.Namespace, i.DataPlane.Selector, Object{Namespace: namespace, Name: name})
}

// ControlPlaneOf is where the control plane of one Gateway alone is. It must
// have one: ControlPlane.PerGateway.
func (i *Implementation) ControlPlaneOf(namespace, name string) (string, map[string]string, error) {
	own := i.ControlPlane.PerGateway
	return i.placeOf("controlPlane.perGateway", own.Namespace, own.Selector, Object{Namespace: namespace, Name: name})
}

// placeOf fills a Gateway into a namespace and a selector.
func (i *Implementation) placeOf(what, namespace string, selector map[string]string, gateway Object) (string, map[string]string, error) {
	vars := Vars{Version: i.Version, Release: i.Release, Gateway: gateway}
	in, err := vars.expand(namespace)
	if err != nil {
		return "", nil, fmt.Errorf("implementation %s: %s.namespace: %w", i.Name, what, err)
	}
	labels := map[string]string{}
	for key, value := range selector {
		if labels[key], err = vars.expand(value); err != nil {
			return "", nil, fmt.Errorf("implementation %s: %s.selector.%s: %w", i.Name, what, key, err)
		}
	}
	return in, labels, nil
}
