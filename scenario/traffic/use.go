package traffic

import "math"

// use is CPU time within a window, in seconds, and the data plane's largest
// working set, in bytes. What nobody knows is NaN.
type use struct {
	dataPlane, controlPlane, backends, attackers float64
	// kubernetes is what makes nodes a cluster, others are the runner, samplers
	// and other implementations, and rest is in no cgroup of all of these: the
	// kernel's own work, above all.
	kubernetes, others, rest float64
	all                      float64
	memory                   float64
	seconds                  float64 // length of the window
}

func unknownUse() use {
	n := math.NaN()
	return use{n, n, n, n, n, n, n, n, n, n}
}

// gateway is the use of what carries the traffic. Where the two planes are the
// same pods, these have the role of the control plane.
func (u use) gateway() float64 {
	if math.IsNaN(u.dataPlane) {
		return u.controlPlane
	}
	return u.dataPlane
}

// A consumer is a part of the use.
type consumer struct {
	name, title string
	of          func(use) float64
}

// consumers are all parts that add up to the whole.
var consumers = []consumer{
	{"data-plane", "data plane", func(u use) float64 { return u.dataPlane }},
	{"control-plane", "control plane", func(u use) float64 { return u.controlPlane }},
	{"backends", "backends", func(u use) float64 { return u.backends }},
	{"attackers", "attackers", func(u use) float64 { return u.attackers }},
	{"kubernetes", "Kubernetes", func(u use) float64 { return u.kubernetes }},
	{"others", "runner, samplers, other implementations", func(u use) float64 { return u.others }},
	{"rest", "rest of the nodes", func(u use) float64 { return u.rest }},
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

// perMillion is CPU time for a million requests.
func perMillion(seconds float64, requests int64) float64 {
	if requests == 0 {
		return math.NaN()
	}
	return seconds / float64(requests) * 1e6
}
