// Package cgroup makes, joins and removes a cluster's cgroups on every
// hierarchy that this machine has mounted, version 1 and 2 alike.
package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Hierarchy is one mounted cgroup file system.
type Hierarchy struct {
	// Path is where it is mounted.
	Path string
	// Unified is true for version 2.
	Unified bool
	// Controllers are those that can be used on it: none for version 1's
	// named hierarchies, and for a version 2 beside version 1.
	Controllers []string
}

// Hierarchies returns what is mounted, in the order of the mounts.
func Hierarchies() ([]Hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("finding cgroup hierarchies: %w", err)
	}
	defer f.Close()
	found, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("finding cgroup hierarchies: %w", err)
	}
	for i, h := range found {
		if !h.Unified {
			continue
		}
		text, err := os.ReadFile(filepath.Join(h.Path, "cgroup.controllers"))
		if err != nil {
			return nil, fmt.Errorf("finding cgroup hierarchies: %w", err)
		}
		found[i].Controllers = strings.Fields(string(text))
	}
	return found, nil
}

// parse reads mountinfo: fields, " - ", file system type, source, options.
func parse(r io.Reader) ([]Hierarchy, error) {
	var found []Hierarchy
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		mount, kind, ok := strings.Cut(lines.Text(), " - ")
		if !ok {
			continue
		}
		fields, kinds := strings.Fields(mount), strings.Fields(kind)
		if len(fields) < 5 || len(kinds) < 3 || !strings.HasPrefix(kinds[0], "cgroup") {
			continue
		}
		h := Hierarchy{Path: fields[4], Unified: kinds[0] == "cgroup2"}
		if !h.Unified {
			h.Controllers = controllersOf(kinds[2])
		}
		if !slices.ContainsFunc(found, func(other Hierarchy) bool { return other.Path == h.Path }) {
			found = append(found, h)
		}
	}
	return found, lines.Err()
}

var v1Controllers = []string{"blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "memory", "net_cls", "net_prio", "perf_event", "pids", "rdma"}

func controllersOf(options string) []string {
	var found []string
	for option := range strings.SplitSeq(options, ",") {
		if slices.Contains(v1Controllers, option) {
			found = append(found, option)
		}
	}
	return found
}

// Missing returns which of the controllers none of the hierarchies has.
func Missing(hierarchies []Hierarchy, controllers ...string) []string {
	var missing []string
	for _, c := range controllers {
		has := func(h Hierarchy) bool {
			// Version 2 counts CPU time in its cpu controller.
			return slices.Contains(h.Controllers, c) || h.Unified && c == "cpuacct" && slices.Contains(h.Controllers, "cpu")
		}
		if !slices.ContainsFunc(hierarchies, has) {
			missing = append(missing, c)
		}
	}
	return missing
}
