package implementation

import (
	"errors"
	"fmt"
	"strings"
)

// Part names an installation among all of a cluster: by the implementation,
// and where it stands beside another version by what tells the two apart.
func (i *Implementation) Part() string {
	if i.setFrom == "" {
		return i.Name
	}
	return i.Name + "-" + i.setFrom
}

// SetFrom reports whether it is installed beside another version of itself.
func (i *Implementation) SetFrom() bool { return i.setFrom != "" }

// InstalledBeside returns the implementation as it is installed beside another
// version of itself, under a label of its own: with another release,
// GatewayClass and controller. What that takes is a deviation.
func (i *Implementation) InstalledBeside(label string) (*Implementation, error) {
	effective, problems := i.besideAs(label)
	return effective, errors.Join(problems...)
}

func (i *Implementation) besideAs(label string) (*Implementation, []error) {
	if i.Beside == nil {
		return nil, []error{fmt.Errorf("implementation %s: two of it do not fit in one cluster: its data has no beside, which would say how", i.Name)}
	}
	vars := Vars{Version: i.Version, Release: i.Release, Proxy: i.Project.DataPlaneProxyVersion, Beside: label}
	var problems []error
	fill := func(what string, tree map[string]any) map[string]any {
		filled := walk(what, merge(nil, tree), func(string) bool { return false }, func(path, text string) string {
			out, err := vars.expand(text)
			if err != nil {
				problems = append(problems, fmt.Errorf("beside.%s: %w", path, err))
			}
			return out
		})
		return filled.(map[string]any)
	}
	patch, values := fill("patch", i.Beside.Patch), fill("values", i.Beside.Values)
	if len(problems) > 0 {
		return nil, problems
	}
	effective, problems := i.patched(patch)
	if effective == nil {
		return nil, problems
	}
	effective.Variant, effective.setFrom = i.Variant, label
	effective.values = merge(i.values, values)
	effective.add(Deviation{
		What: fmt.Sprintf("It is release %s in namespace %s, with GatewayClass %s and controller name %s.",
			effective.Release.Name, effective.Release.Namespace, effective.GatewayClass.Name, effective.GatewayClass.ControllerName),
		Why: "Another version of it is in the cluster.",
	}, Deviation{
		What: "Its own definitions are those of the other version.",
		Why:  "A cluster has one of each.",
	})
	return effective, problems
}

// checkBeside holds it, as it would be installed beside another version, to the
// same rules, and to differ in what must differ.
func (i *Implementation) checkBeside() []error {
	if i.Beside == nil {
		return nil
	}
	other, found := i.besideAs("v0-0-0")
	var problems []error
	for _, p := range found {
		problems = append(problems, fmt.Errorf("beside: %w", p))
	}
	if other == nil {
		return problems
	}
	for _, same := range []struct {
		what       string
		this, that string
	}{
		{"release.namespace", i.Release.Namespace, other.Release.Namespace},
		{"gatewayClass.name", i.GatewayClass.Name, other.GatewayClass.Name},
		{"gatewayClass.controllerName", i.GatewayClass.ControllerName, other.GatewayClass.ControllerName},
	} {
		if same.this == same.that {
			problems = append(problems, fmt.Errorf("beside.patch.%s: %q is that of the first installation too", same.what, strings.TrimSpace(same.this)))
		}
	}
	return problems
}
