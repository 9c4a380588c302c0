package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Weigh sets how much of busy CPUs the cgroup at path gets beside its
// siblings, in the shares of version 1: 1024 is what one has by default, and
// what Kubernetes gives for one CPU that is requested.
func Weigh(hierarchies []Hierarchy, path string, shares int) error {
	for _, h := range hierarchies {
		if !slices.Contains(h.Controllers, "cpu") {
			continue
		}
		file, value := "cpu.shares", shares
		if h.Unified {
			file, value = "cpu.weight", weight(shares)
		}
		if err := os.WriteFile(filepath.Join(h.Path, path, file), []byte(strconv.Itoa(value)), 0); err != nil {
			return fmt.Errorf("weighing cgroup %s: %w", path, err)
		}
	}
	return nil
}

// weight is shares (2 to 262144) on the scale of version 2 (1 to 10000), as
// the kubelet converts them.
func weight(shares int) int {
	return 1 + (shares-2)*9999/262142
}
