// Package reading is what samplers and the runner say to each other: which
// cgroups there are on a node, and what each has used.
package reading

import "github.com/gatemark/gatemark/measure/usage/cgroup"

// Port is where samplers answer. HealthPath needs no token, ReadingsPath does:
//
//	GET /v1/readings?since=N&groups=N&instance=ID&now=true
//
// The answer has the readings from number since on, and the groups from number
// groups on: those that the asker does not have. What is not asked for any more
// is forgotten. With now, everything is read first. Numbers that another
// instance gave count as 0.
const (
	Port         = 8090
	HealthPath   = "/healthz"
	ReadingsPath = "/v1/readings"
)

// A Kind is what a group is.
type Kind string

// The kinds. A pod's cgroup holds its containers', and the pods' groups hold the
// pods'. What else runs on a node is in others.
const (
	Node      Kind = "node"
	Pods      Kind = "pods"
	Pod       Kind = "pod"
	Container Kind = "container"
	Other     Kind = "other"
)

// A Group is one cgroup of a node.
type Group struct {
	Kind Kind `json:"kind"`
	// Path is below the root of the hierarchies, and names the group for ever:
	// the names of pods and containers do not come again.
	Path string `json:"path"`
	// Pod is the UID of the pod, Container the ID of the container.
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
}

// A Reading is what one group had used at an instant.
type Reading struct {
	// Group is its number among the groups.
	Group int `json:"group"`
	// At is in nanoseconds since 1970 by the sampler's clock, which nobody sets.
	At int64 `json:"at"`
	// Since, if it is not 0, is until when the reading before held: groups that
	// stand still are not told of.
	Since int64 `json:"since,omitempty"`
	cgroup.Counters
	// In and Out are the bytes that came into and left a pod, by its own
	// interfaces but the loopback; Unknown where there is no telling.
	In  int64 `json:"in"`
	Out int64 `json:"out"`
	// Gone marks a group's last reading. Guess is how many of its nanoseconds
	// of CPU are not its own for sure: it died together with others, and what
	// the group above had beyond the living was divided among them.
	Gone  bool  `json:"gone,omitempty"`
	Guess int64 `json:"guess,omitempty"`
}

// An Answer is what a sampler has to say.
type Answer struct {
	// Instance is the sampler's life. A new one has new numbers.
	Instance string `json:"instance"`
	// Version is of its cgroups.
	Version int `json:"version"`
	// Now is the sampler's clock. Interval is how often it reads, in nanoseconds.
	Now      int64 `json:"now"`
	Interval int64 `json:"interval"`
	// First numbers the first of Readings, FirstGroup the first of Groups.
	First      int       `json:"first"`
	FirstGroup int       `json:"firstGroup"`
	Groups     []Group   `json:"groups"`
	Readings   []Reading `json:"readings"`
	// Problem is why readings are missing, if they are.
	Problem string `json:"problem,omitempty"`
}
