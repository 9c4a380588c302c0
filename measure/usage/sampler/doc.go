// Package sampler reads what every pod, every container and everything else on
// a node uses. It runs in a pod of each node, with nothing but the right to
// read the node's /sys/fs/cgroup and /proc: no root, no capability, no access to
// the API server.
//
// Groups are followed as they come and go. The kernel tells when a cgroup is
// made or removed (inotify), so that a pod's counters are read in the instant
// in which one of its containers ends, while the pod's own cgroup and network
// are still there. A counter holds what dead children used; what a parent has
// beyond its living children belongs to those that died.
//
// A group whose CPU counter stands still has run nothing, so that only that one
// counter is read, from a file that is kept open. Everything else is read when
// it moves, of pods every tenth time in any case, and when somebody asks for it.
package sampler
