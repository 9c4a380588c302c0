package result

import (
	"encoding/json"
	"time"
)

// SchemaVersion names the layout of run.json, trial.json and report.json. A
// reader refuses a major version that it does not know.
const SchemaVersion = "1.0"

// A Run is what one plan produced. Its trials lie beside it, a directory each.
type Run struct {
	SchemaVersion string `json:"schemaVersion"`
	// ID is unique and sorts by time: 20060102-150405-xxxx.
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Ended is absent while the run goes on, and for ever when it was killed.
	Ended *time.Time `json:"ended,omitempty"`
	// Plan is the plan as resolved: every default filled in.
	Plan        json.RawMessage `json:"plan"`
	Command     []string        `json:"command,omitempty"`
	Environment Environment     `json:"environment"`
	// Implementations holds what was under test, by treatment name.
	Implementations map[string]Implementation `json:"implementations"`
	// Scenarios describes the scenarios of the plan, by name.
	Scenarios map[string]Scenario `json:"scenarios"`
	// Schedule is every trial that was planned, in its randomised order.
	Schedule []TrialRef `json:"schedule"`
	// Seed reproduces the order of the schedule.
	Seed uint64 `json:"seed"`
	// Notes are what a reader must know about the run as a whole.
	Notes []string `json:"notes,omitempty"`
}

// A TrialRef names one planned trial.
type TrialRef struct {
	ID             string `json:"id"`
	Implementation string `json:"implementation"`
	Scenario       string `json:"scenario"`
	Variant        string `json:"variant,omitempty"`
	Block          int    `json:"block"`
}

// Environment is where a run took place.
type Environment struct {
	Gatemark   Software   `json:"gatemark"`
	Cluster    Cluster    `json:"cluster"`
	GatewayAPI GatewayAPI `json:"gatewayAPI"`
	// Placement says where runner, attackers and backends ran and what CPU
	// they were given, in words.
	Placement []string `json:"placement,omitempty"`
	// Isolation is parked, coresident or joined.
	Isolation string `json:"isolation"`
	// Runner is the image that measured.
	Runner Image `json:"runner"`
}

// Software is a program and its version.
type Software struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
}

// Cluster is the Kubernetes cluster of a run.
type Cluster struct {
	// Kind is local (made by gatemark on this machine) or context.
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Nodes   []Node `json:"nodes"`
}

// Node is a machine of the cluster.
type Node struct {
	Name             string `json:"name"`
	CPUs             int64  `json:"cpus"`
	MemoryBytes      int64  `json:"memoryBytes"`
	CPUModel         string `json:"cpuModel,omitempty"`
	Architecture     string `json:"architecture"`
	Kernel           string `json:"kernel"`
	OS               string `json:"os"`
	ContainerRuntime string `json:"containerRuntime"`
	Kubelet          string `json:"kubelet"`
	// CgroupVersion is 1 or 2; 0 where it could not be told.
	CgroupVersion int `json:"cgroupVersion,omitempty"`
}

// GatewayAPI is the version and channel of the Gateway API's definitions.
type GatewayAPI struct {
	Version string `json:"version"`
	Channel string `json:"channel"`
}

// An Implementation is a product under test as it was installed or found.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
	// Variant is the installation variant, such as gateway-namespace.
	Variant string `json:"variant,omitempty"`
	// Installed is false for an implementation that was found in the cluster.
	Installed      bool         `json:"installed"`
	GatewayClass   string       `json:"gatewayClass"`
	ControllerName string       `json:"controllerName"`
	DataPlaneProxy string       `json:"dataPlaneProxy,omitempty"`
	Chart          string       `json:"chart,omitempty"`
	Images         []Image      `json:"images,omitempty"`
	Deviations     []Deviation  `json:"deviations,omitempty"`
	Quirks         []string     `json:"quirks,omitempty"`
	Project        []ProjectRow `json:"project,omitempty"`
}

// A ProjectRow is one fact about the project behind an implementation.
type ProjectRow struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// An Image is a container image that ran, with where it came from.
type Image struct {
	Role   string `json:"role"`
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
	// Origin is official, source, executable, checkout or found.
	Origin string `json:"origin"`
	From   string `json:"from,omitempty"`
}

// A Deviation is a setting that differs from upstream's default.
type Deviation struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// A Scenario is a question, and how its answer is read.
type Scenario struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Question string `json:"question"`
	// Method says in a few sentences what the scenario does and when its
	// clocks start and stop.
	Method string `json:"method"`
	// Headline names the metrics to show first, best first.
	Headline []string `json:"headline"`
}
