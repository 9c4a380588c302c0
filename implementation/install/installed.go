package install

import (
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
)

// PartLabel says what an object of ours belongs to: the part of an
// implementation, which is its name where it is alone, or GatewayAPIPart.
const PartLabel = "gatemark.dev/part"

// GatewayAPIPart is the PartLabel of the Gateway API's own definitions.
const GatewayAPIPart = "gateway-api"

// Installed is what was installed, for the result and for Uninstall.
type Installed struct {
	Implementation string `json:"implementation"`
	// Part is Implementation.Part: what the labels of its objects say.
	Part    string `json:"part"`
	Title   string `json:"title"`
	Version string `json:"version"`
	Variant string `json:"variant,omitempty"`
	// Namespace is the release's.
	Namespace string `json:"namespace"`
	Release   string `json:"release"`
	Chart     Chart  `json:"chart"`
	// Before are the charts that were installed before it.
	Before         []Chart        `json:"before,omitempty"`
	Values         map[string]any `json:"values"` // set beyond the chart's defaults
	GatewayAPI     GatewayAPI     `json:"gatewayAPI"`
	GatewayClass   string         `json:"gatewayClass"`
	ControllerName string         `json:"controllerName"`
	Images         []Image        `json:"images"`
	// Deviations are all differences from what upstream's documentation
	// would have a user install.
	Deviations []implementation.Deviation `json:"deviations"`
	Quirks     []string                   `json:"quirks,omitempty"`
	// Leftovers are what the product makes by itself, and does not remove.
	Leftovers []implementation.Leftover `json:"leftovers,omitempty"`
}

// A Chart is the Helm chart that was used, or made of manifests.
type Chart struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	Module        string `json:"module"`
	ModuleVersion string `json:"moduleVersion"`
	ModuleSum     string `json:"moduleSum"` // h1:..., as in a go.sum
	// Repository is where it was pulled from, where that was no module.
	Repository string `json:"repository,omitempty"`
	// Manifests are the plain files that it was made of, where the vendor
	// publishes no chart.
	Manifests []string `json:"manifests,omitempty"`
}

// GatewayAPI is the release of the Gateway API's definitions in the cluster.
type GatewayAPI struct {
	Version string `json:"version"`
	Channel string `json:"channel"`
	// Found: it was there already, not by gatemark.
	Found bool `json:"found,omitempty"`
}

// An Image is one that the implementation runs.
type Image struct {
	Role       string   `json:"role"`
	Containers []string `json:"containers"`
	image.Image
}
