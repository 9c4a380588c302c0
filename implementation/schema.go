package implementation

import (
	"io/fs"

	"github.com/gatemark/gatemark/image"
)

// The header of an implementation.yaml.
const (
	APIVersion = "gatemark.dev/v1"
	Kind       = "Implementation"
)

// An Implementation is a product under test, as its folder describes it.
type Implementation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Name is what plans and results call it.
	Name string `json:"name"`
	// Title is what readers call it.
	Title string `json:"title"`
	// Version is the release that the rest of the file was written for.
	Version string `json:"version"`
	// Internal: it is for gatemark's own tests. It is found by its name, and
	// is in no list.
	Internal bool    `json:"internal,omitempty"`
	Project  Project `json:"project"`
	// GatewayAPI is what this version declares to implement, or what the cluster
	// gets beside one that implements nothing of it.
	GatewayAPI GatewayAPI `json:"gatewayAPI"`
	// GatewayClass is left out where a dialect has no Gateways.
	GatewayClass GatewayClass `json:"gatewayClass,omitzero"`
	// BackendPolicies are policies against backends that fail, in APIs of its own.
	BackendPolicies []Policy `json:"policies,omitempty"`
	// RouteDialect is nil for the Gateway API.
	RouteDialect *Dialect `json:"dialect,omitempty"`
	// Before are charts that the vendor ships apart, definitions say. They
	// are installed first, in this order, into the same namespace.
	Before       []EarlierChart `json:"before,omitempty"`
	Chart        Chart          `json:"chart"`
	Release      Release        `json:"release"`
	Images       []Image        `json:"images,omitempty"`
	ControlPlane ControlPlane   `json:"controlPlane"`
	DataPlane    DataPlane      `json:"dataPlane"`
	// Features are names of the Gateway API's supported features, for
	// where the GatewayClass's status lists none.
	Features []string `json:"features,omitempty"`
	// Quirks are sentences that a reader of a result must know.
	Quirks []string `json:"quirks,omitempty"`
	// Deviations are where the installation differs from upstream's
	// defaults, beyond the names of images.
	Deviations []Deviation `json:"deviations,omitempty"`
	// Leftovers are objects that the product makes by itself outside its
	// namespaces, and leaves behind when it is uninstalled.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// Untested says why nobody has measured the product by this description
	// yet. Empty: it has been.
	Untested string `json:"untested,omitempty"`
	// Variants are other ways to install it.
	Variants []Variant `json:"variants,omitempty"`
	// Versions are other releases that this file knows of.
	Versions []Version `json:"versions,omitempty"`
	// Beside is how a second version of it is installed beside a first one.
	// Without it a cluster has room for one.
	Beside *Beside `json:"beside,omitempty"`

	// Variant is the variant that this is, empty for the default.
	Variant string `json:"-"`
	// Checkout is what takes the place of a Go module, or nothing.
	Checkout Checkout `json:"-"`

	files   fs.FS
	values  map[string]any
	source  []byte      // JSON of the default, for variants to patch
	added   []Deviation // those of the deviations that the data does not list
	setFrom string      // what tells it from another installation of the same name
}

// A Project is who makes the product.
type Project struct {
	URL        string `json:"url"`
	Repository string `json:"repository"`
	OpenSource string `json:"openSource"` // yes, no or partly
	License    string `json:"license"`
	// Foundation owns the name: CNCF, say; empty for none.
	Foundation string `json:"foundation,omitempty"`
	// Vendors offer support for money.
	Vendors []string `json:"vendors"`
	// DataPlaneProxy is what carries the traffic, with its version.
	DataPlaneProxy        string `json:"dataPlaneProxy"`
	DataPlaneProxyVersion string `json:"dataPlaneProxyVersion"`
}

// A GatewayAPI is a release of the Gateway API's definitions.
type GatewayAPI struct {
	Version string `json:"version"`
	Channel string `json:"channel"` // standard or experimental
}

// A GatewayClass is the class that Gateways of this implementation name.
type GatewayClass struct {
	Name           string `json:"name"`
	ControllerName string `json:"controllerName"`
	// PreCreated: the installation brings it. Otherwise we create it.
	PreCreated bool `json:"preCreated,omitempty"`
	// Parameters is an object that the class's parametersRef names, created
	// before it.
	Parameters map[string]any `json:"parameters,omitempty"`
}

// An EarlierChart is a chart with a release of its own.
type EarlierChart struct {
	// Release is its name.
	Release string `json:"release"`
	Chart   Chart  `json:"chart"`

	values map[string]any
}

// Values is what is set beyond the chart's own defaults: a copy.
func (e EarlierChart) Values() map[string]any { return merge(nil, e.values) }

// A Leftover is an object, or one of this name in every namespace where it is
// of a kind that has them.
type Leftover struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// A Chart is a Helm chart in a Go module's directory, in a chart repository or
// in the implementation's own folder; or plain manifests there, for products
// that publish no chart.
type Chart struct {
	// Module and Repository are empty for the implementation's own folder.
	Module string `json:"module,omitempty"`
	// Repository is where charts are published: oci://... or https://...
	Repository string `json:"repository,omitempty"`
	// Version is the module's, or that of the chart in the repository.
	Version string `json:"version,omitempty"`
	// Path is the chart's in the module or the folder, its name in the
	// repository.
	Path string `json:"path,omitempty"`
	// Manifests are files in it, instead of a chart at Path, as patterns of
	// path.Match. They are installed as a chart whose values are, for each
	// container, CONTAINER.image, as published unless it is set, and
	// CONTAINER.flags, further arguments by their names without dashes, for
	// one that has arguments.
	Manifests []string `json:"manifests,omitempty"`
	// ChartVersion and AppVersion are what the vendor's release process
	// writes over those in Chart.yaml; empty leaves them.
	ChartVersion string `json:"chartVersion,omitempty"`
	AppVersion   string `json:"appVersion,omitempty"`
	// ValuesTemplate is a values file with ${PLACEHOLDERS} that the vendor's
	// release process fills in. Empty: the chart has a values.yaml.
	ValuesTemplate string `json:"valuesTemplate,omitempty"`
	// Placeholders is what it fills in.
	Placeholders map[string]string `json:"placeholders,omitempty"`
	// Values is a file of this folder with what is set beyond the chart's
	// defaults.
	Values string `json:"values,omitempty"`
}

// A Release is where the chart is installed.
type Release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// An Image is one that the implementation runs.
type Image struct {
	// Role is control-plane or data-plane, gateway for both in one, or another
	// word of its own.
	Role string `json:"role"`
	// Official is the vendor's own image; empty for the one that the chart
	// names by itself, if it names one.
	Official string `json:"official,omitempty"`
	// Source is how to build it where no image registry answers.
	Source *image.Recipe `json:"source,omitempty"`
	// Values are the chart's values that name it.
	Values []ImageValue `json:"values"`
	// Containers, by name, run it.
	Containers []string `json:"containers"`
	// WhenBuilt is what else differs where the image was built here.
	WhenBuilt *WhenBuilt `json:"whenBuilt,omitempty"`
}

// WhenBuilt is what an image that was built here is not, or needs.
type WhenBuilt struct {
	// Title takes the place of the implementation's.
	Title string `json:"title,omitempty"`
	// Values is a file of the folder, laid over the chart's values.
	Values     string      `json:"values,omitempty"`
	Quirks     []string    `json:"quirks,omitempty"`
	Deviations []Deviation `json:"deviations,omitempty"`

	values map[string]any
}

// Over lays the values over others, which stay as they are.
func (w WhenBuilt) Over(values map[string]any) map[string]any { return merge(values, w.values) }

// An ImageValue is a path in the chart's values that takes an image's name.
type ImageValue struct {
	// Path has dots between its keys.
	Path string `json:"path"`
	// Part is ref (name:tag), repository or tag. Empty means ref.
	Part string `json:"part,omitempty"`
}

// A ControlPlane is what turns Gateway API objects into configuration.
type ControlPlane struct {
	Namespace string `json:"namespace"`
	// Selector is the labels of its pods.
	Selector map[string]string `json:"selector"`
	// Workloads are awaited after the installation, and parked.
	Workloads []Workload `json:"workloads"`
	Metrics   *Endpoint  `json:"metrics,omitempty"`
	// PerGateway is what of it each Gateway has for itself, beside these.
	PerGateway *GatewayControlPlane `json:"perGateway,omitempty"`
}

// A GatewayControlPlane is pods of the control plane that serve one Gateway
// only, and come and go with it.
type GatewayControlPlane struct {
	Namespace string            `json:"namespace"`
	Selector  map[string]string `json:"selector"`
	Metrics   *Endpoint         `json:"metrics,omitempty"`
}

// A DataPlane is what carries the traffic.
type DataPlane struct {
	// PerGateway: each Gateway has pods of its own. Otherwise one set of
	// pods serves them all.
	PerGateway bool `json:"perGateway"`
	// Namespace, Selector: where its pods and workloads are, and its Services,
	// which have these labels or select by them.
	Namespace string            `json:"namespace"`
	Selector  map[string]string `json:"selector"`
	// Container is the proxy's.
	Container string `json:"container"`
	// WorkloadKind is Deployment, DaemonSet or StatefulSet.
	WorkloadKind string    `json:"workloadKind"`
	Metrics      *Endpoint `json:"metrics,omitempty"`
	Admin        *Admin    `json:"admin,omitempty"`
}

// A Workload is a Deployment, DaemonSet or StatefulSet of the release.
type Workload struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// An Endpoint answers in the Prometheus text format.
type Endpoint struct {
	Port int    `json:"port"`
	Path string `json:"path"`
}

// An Admin is a proxy's own view of its configuration.
type Admin struct {
	// Format is how the dump is read; measure/configdump knows the formats.
	Format string `json:"format"`
	Port   int    `json:"port"`
	// Loopback: it listens inside the pod only, so it is reached through
	// the API server's port forwarding.
	Loopback bool `json:"loopback"`
}

// A Deviation is one difference from upstream's defaults.
type Deviation struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// A Variant is another way to install the same product.
type Variant struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Why it exists: what it changes that matters to a measurement.
	Why string `json:"why"`
	// Values is a file of this folder, laid over the default's values.
	Values string `json:"values,omitempty"`
	// Patch is laid over this file (a JSON merge patch).
	Patch map[string]any `json:"patch,omitempty"`
}

// A Version is another release of the same product, and what of this file is
// different for it.
type Version struct {
	Version string `json:"version"`
	// Patch is laid over this file (a JSON merge patch).
	Patch map[string]any `json:"patch,omitempty"`
}

// Beside says what must differ for two versions of one product to run in one
// cluster: the release, the GatewayClass and the name of its controller. Its
// strings may use {{ .Beside }}, a label that is the second one's own.
type Beside struct {
	// Values are laid over the chart's.
	Values map[string]any `json:"values,omitempty"`
	// Patch is laid over this file (a JSON merge patch).
	Patch map[string]any `json:"patch"`
}
