package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Tree is a node's cgroups. It is for one goroutine.
type Tree struct {
	// Version is 1 or 2.
	Version int

	cpu, throttling, memory string // where each hierarchy is: one place on version 2
	buffer                  buffer
}

// Open finds the hierarchies below root, where a node's /sys/fs/cgroup is
// mounted. A version 2 beside version 1, which has no controllers, is not one.
func Open(root string) (*Tree, error) {
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err == nil {
		if !strings.Contains(" "+strings.TrimSpace(string(controllers))+" ", " cpu ") {
			return nil, fmt.Errorf("cgroup version 2 at %s has no CPU controller, only %q", root, strings.TrimSpace(string(controllers)))
		}
		return &Tree{Version: 2, cpu: root, throttling: root, memory: root}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	t := &Tree{Version: 1}
	for _, h := range []struct {
		to   *string
		file string
		dirs []string
	}{
		// Distributions link each name to where the hierarchy is. Inside a
		// container the links may be missing.
		{&t.cpu, "cpuacct.usage", []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"}},
		{&t.throttling, "cpu.stat", []string{"cpu", "cpu,cpuacct", "cpuacct,cpu"}},
		{&t.memory, "memory.stat", []string{"memory"}},
	} {
		for _, dir := range h.dirs {
			if _, err := os.Stat(filepath.Join(root, dir, h.file)); err == nil {
				*h.to = filepath.Join(root, dir)
				break
			}
		}
	}
	if t.cpu == "" {
		return nil, fmt.Errorf("%s has neither cgroup version 2 nor the cpuacct hierarchy of version 1", root)
	}
	return t, nil
}

// Dir is the folder of a cgroup in the hierarchy that counts CPU time. Folders
// appear and vanish there as cgroups do.
func (t *Tree) Dir(path string) string { return filepath.Join(t.cpu, path) }

// Path is the cgroup of such a folder.
func (t *Tree) Path(dir string) string {
	return "/" + strings.Trim(strings.TrimPrefix(dir, t.cpu), "/")
}

// Children names the cgroups right below one, sorted.
func (t *Tree) Children(path string) ([]string, error) {
	entries, err := os.ReadDir(t.Dir(path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrGone
		}
		return nil, fmt.Errorf("list cgroups: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Find returns the first cgroup, in breadth-first order, whose name fits.
func (t *Tree) Find(fits func(name string) bool) (string, error) {
	for level := []string{"/"}; len(level) > 0; {
		var next []string
		for _, path := range level {
			names, err := t.Children(path)
			if err != nil && !errors.Is(err, ErrGone) {
				return "", err
			}
			for _, name := range names {
				if fits(name) {
					return filepath.Join(path, name), nil
				}
				next = append(next, filepath.Join(path, name))
			}
		}
		level = next
	}
	return "", errors.New("no cgroup below " + t.cpu + " fits")
}
