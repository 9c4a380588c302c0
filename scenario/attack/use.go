package attack

import (
	"math"
	"strings"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

// Use is CPU time within a window, in seconds, and the largest working set of
// what carries the traffic, in bytes. What nobody knows is NaN.
type Use struct {
	DataPlane, ControlPlane, Backends, Attackers float64
	// Kubernetes is what makes nodes a cluster, Others are the runner, samplers
	// and other implementations, and Rest is in no cgroup of all of these: the
	// kernel's own work, above all.
	Kubernetes, Others, Rest float64
	All                      float64
	Memory                   float64
	Seconds                  float64 // length of the window
}

// UnknownUse is that of which nobody knows anything.
func UnknownUse() Use {
	n := math.NaN()
	return Use{n, n, n, n, n, n, n, n, n, n}
}

// Gateway is the use of what carries the traffic. Where the two planes are the
// same pods, these have the role of the control plane.
func (u Use) Gateway() float64 {
	if math.IsNaN(u.DataPlane) {
		return u.ControlPlane
	}
	return u.DataPlane
}

// A Consumer is a part of the use.
type Consumer struct {
	Name, Title string
	Of          func(Use) float64
}

// Consumers are all parts that add up to the whole.
var Consumers = []Consumer{
	{"data-plane", "data plane", func(u Use) float64 { return u.DataPlane }},
	{"control-plane", "control plane", func(u Use) float64 { return u.ControlPlane }},
	{"backends", "backends", func(u Use) float64 { return u.Backends }},
	{"attackers", "attackers", func(u Use) float64 { return u.Attackers }},
	{"kubernetes", "Kubernetes", func(u Use) float64 { return u.Kubernetes }},
	{"others", "runner, samplers, other implementations", func(u Use) float64 { return u.Others }},
	{"rest", "rest of the nodes", func(u Use) float64 { return u.Rest }},
}

// add adds what is known to a sum of which nothing may be known yet.
func add(to *float64, v float64) {
	switch {
	case math.IsNaN(v):
	case math.IsNaN(*to):
		*to = v
	default:
		*to += v
	}
}

// PerMillion is CPU time for a million requests.
func PerMillion(seconds float64, requests int64) float64 {
	if requests == 0 {
		return math.NaN()
	}
	return seconds / float64(requests) * 1e6
}

// useOf divides a window.
func useOf(w *usage.Window, namespace string) Use {
	u := UnknownUse()
	for _, m := range w.Each {
		to := &u.Others
		switch {
		case m.Role == scenario.DataPlaneRole:
			to = &u.DataPlane
		case m.Role == scenario.ControlPlaneRole:
			to = &u.ControlPlane
		case m.Role == scenario.KubernetesRole:
			to = &u.Kubernetes
		case m.Role != scenario.OurRole || m.Pod == nil:
		case m.Pod.Namespace == namespace:
			to = &u.Backends
		case strings.HasPrefix(m.Pod.Name, scenario.AttackerName):
			to = &u.Attackers
		}
		add(to, m.CPU)
	}
	control := math.NaN()
	for role, of := range w.Uses {
		add(&u.All, of.CPU)
		switch role {
		case usage.Rest:
			u.Rest = of.CPU
		case scenario.DataPlaneRole:
			u.Memory = of.Peak
		case scenario.ControlPlaneRole:
			control = of.Peak
		}
	}
	if math.IsNaN(u.Memory) {
		u.Memory = control // the same pods are both planes
	}
	u.Seconds = w.To.Sub(w.From).Seconds()
	return u
}
