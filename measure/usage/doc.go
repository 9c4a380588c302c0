// Package usage tells what everything in a cluster used within a window of
// time: CPU, memory, throttling, network, for each pod and each other part of a
// node. Cost can land where nobody looks: so it is every pod, Kubernetes' own
// components, and the rest of each node.
//
// A sampler on each node reads cgroups (package sampler) and is asked for what
// it has read every few seconds. Readings are counters. What was used within a
// window is the difference of the counters at its edges, interpolated between
// the readings around each; an Edge has everything read at that instant, so that
// there is next to nothing to interpolate. Samplers' instants are brought onto
// this process's clock by the offset that is measured with every question, as
// NTP does (RFC 5905, section 8).
//
// Where pods may not mount a node's folders there are no samplers. Then the
// kubelets' own statistics serve: see Kubelets.
package usage
