package plan

import (
	"path"
	"strconv"
	"strings"
)

// A Treatment is an implementation in one version and installation variant.
type Treatment struct {
	// Name is an implementation's, or the path of a folder that describes one.
	// It is empty for a GatewayClass alone.
	Name string `json:"name,omitempty"`
	// Folder is where the implementation was read from, where that is not
	// gatemark itself.
	Folder string `json:"folder,omitempty"`
	// Version is a release or a commit, instead of the one in the data.
	Version string `json:"version,omitempty"`
	// Checkout is a directory whose sources are built instead.
	Checkout string `json:"checkout,omitempty"`
	Variant  string `json:"variant,omitempty"`
	// Copy makes a second treatment, or a third, of what is installed once: an
	// A/A control, which shows how much differs where nothing does. It is 0
	// for the treatment itself, and counts from 2 on.
	Copy int `json:"copy,omitempty"`
	// Values are laid over what the implementation sets of its chart's values.
	Values map[string]any `json:"values,omitempty"`
	// GatewayClass is one that the cluster has already: what serves it is
	// measured as it is, and nothing is installed.
	GatewayClass string `json:"gatewayClass,omitempty"`
	// Address is where its Gateways answer, if their status does not say so: a
	// host or an IP address. {{.Namespace}} and {{.Name}} are the Gateway's.
	Address string `json:"address,omitempty"`
}

// classPrefix marks a GatewayClass in the place of an implementation's name.
const classPrefix = "class/"

// String is how a treatment is named in results and on the command line:
// NAME[@VERSION][/VARIANT][=CHECKOUT][#COPY], or class/NAME for a GatewayClass
// alone. Of a checkout it has the last element only.
func (t Treatment) String() string {
	name := t.Name
	if name == "" {
		name = classPrefix + t.GatewayClass
	}
	if t.Version != "" {
		name += "@" + t.Version
	}
	if t.Variant != "" {
		name += "/" + t.Variant
	}
	if t.Checkout != "" {
		name += "=" + path.Base(t.Checkout)
	}
	if t.Copy != 0 {
		name += "#" + strconv.Itoa(t.Copy)
	}
	return name
}

// Installation names what a treatment is installed as: copies share it.
func (t Treatment) Installation() string {
	t.Copy = 0
	return t.String()
}

// ParseTreatment reads what String writes, and the path of a folder in the
// place of the name, if isFolder knows it for one. A copy that is no number
// stays in the name, so that whoever looks it up says what is wrong.
func ParseTreatment(s string, isFolder func(string) bool) Treatment {
	var t Treatment
	if at := strings.LastIndexByte(s, '#'); at >= 0 {
		if n, err := strconv.Atoi(s[at+1:]); err == nil {
			t.Copy, s = n, s[:at]
		}
	}
	if isFolder(s) {
		t.Name = s
		return t
	}
	s, t.Checkout, _ = strings.Cut(s, "=")
	if class, ok := strings.CutPrefix(s, classPrefix); ok && class != "" {
		t.GatewayClass = class
		return t
	}
	s, t.Variant, _ = strings.Cut(s, "/")
	t.Name, t.Version, _ = strings.Cut(s, "@")
	return t
}
