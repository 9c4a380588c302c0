// Package cgroup reads what cgroups have used, on version 1 and version 2
// alike, from wherever a node's /sys/fs/cgroup is mounted. It reads only, and
// only files that everybody may read.
//
// What is read are counters, as the kernel keeps them: a window's use is the
// difference of two readings, whatever happened in between. A cgroup's CPU time
// holds that of all below it, also of those that are gone.
package cgroup
