package cgroup

import (
	"regexp"
	"strings"
)

// PodsRoot tells from a cgroup's name whether it is the one that holds all of a
// kubelet's pods: kubepods, or as systemd's slices are named kubepods.slice or,
// below another slice, something-kubepods.slice.
func PodsRoot(name string) bool {
	return name == "kubepods" || name == "kubepods.slice" || strings.HasSuffix(name, "-kubepods.slice")
}

// A pod's UID has dashes. In systemd's names a dash means a step down, so that
// they stand as underscores there. A pod that the kubelet has from a file has
// the hash of that as its UID.
var podName = regexp.MustCompile(`^(?:.*-)?pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)

// Pod returns the UID of the pod whose cgroup has this name.
func Pod(name string) (uid string, ok bool) {
	m := podName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return strings.ReplaceAll(m[1], "_", "-"), true
}

// Container runtimes put their own name before a container's ID, where systemd
// makes the cgroup: cri-containerd-ID.scope, crio-ID.scope, docker-ID.scope.
var containerName = regexp.MustCompile(`^(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$`)

// Container returns the ID of the container whose cgroup has this name.
func Container(name string) (id string, ok bool) {
	m := containerName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// PodOf returns the UID of the pod that a cgroup belongs to, by its path.
func PodOf(path string) (uid string, ok bool) {
	for part := range strings.SplitSeq(path, "/") {
		if uid, ok := Pod(part); ok {
			return uid, true
		}
	}
	return "", false
}
