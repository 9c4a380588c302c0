package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Make makes the cgroup at path (as "/a/b") on every hierarchy. On version 2
// it hands all controllers down to it, which only works while no process is
// in a cgroup above it.
func Make(hierarchies []Hierarchy, path string) error {
	for _, h := range hierarchies {
		dir := h.Path
		for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
			if h.Unified {
				if err := delegate(dir, h.Controllers); err != nil {
					return fmt.Errorf("making cgroup %s: %w", path, err)
				}
			}
			parent := dir
			dir = filepath.Join(dir, name)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("making cgroup %s: %w", path, err)
			}
			if !h.Unified && slices.Contains(h.Controllers, "cpuset") {
				if err := inheritCPUSet(parent, dir); err != nil {
					return fmt.Errorf("making cgroup %s: %w", path, err)
				}
			}
		}
	}
	return nil
}

func delegate(dir string, controllers []string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	on := strings.Fields(string(text))
	for _, c := range controllers {
		if slices.Contains(on, c) {
			continue
		}
		if err := os.WriteFile(file, []byte("+"+c), 0); err != nil {
			return err
		}
	}
	return nil
}

// inheritCPUSet fills a new cpuset of version 1, which begins empty and
// accepts no process until it is filled.
func inheritCPUSet(parent, dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(own)) != "" {
			continue
		}
		above, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), above, 0); err != nil {
			return err
		}
	}
	return nil
}

// Join moves a process, as numbered in the caller's PID namespace, into the
// cgroup at path on every hierarchy. A process that has ended is no error:
// whoever waits for it learns of that.
func Join(hierarchies []Hierarchy, path string, pid int) error {
	for _, h := range hierarchies {
		file := filepath.Join(h.Path, path, "cgroup.procs")
		err := os.WriteFile(file, []byte(strconv.Itoa(pid)), 0)
		if errors.Is(err, syscall.ESRCH) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("moving process %d into cgroup %s: %w", pid, path, err)
		}
	}
	return nil
}

// Remove removes the cgroup at path with all below it from every hierarchy.
// Processes that are just ending hold their cgroups for a moment, which it
// waits out until ctx ends. A cgroup that is not there is no error.
func Remove(ctx context.Context, hierarchies []Hierarchy, path string) error {
	for {
		var busy error
		for _, h := range hierarchies {
			if err := removeTree(filepath.Join(h.Path, path)); err != nil {
				busy = err
			}
		}
		if busy == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing cgroup %s: %w", path, busy)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	if err != nil {
		return err
	}
	var first error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(dir, e.Name())); err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		return first
	}
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}

// RemoveEmpty removes the cgroup at path where nothing is in or below it.
func RemoveEmpty(hierarchies []Hierarchy, path string) {
	for _, h := range hierarchies {
		// The error is that another cluster's cgroups are below it.
		_ = syscall.Rmdir(filepath.Join(h.Path, path))
	}
}

// Exists tells whether the cgroup at path is on any hierarchy.
func Exists(hierarchies []Hierarchy, path string) bool {
	return slices.ContainsFunc(hierarchies, func(h Hierarchy) bool {
		_, err := os.Stat(filepath.Join(h.Path, path))
		return err == nil
	})
}
