package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AllowRealtime lets threads in the cgroup at path, and in those right below
// it, run before all ordinary ones, for share of each CPU's time at most. Where
// the kernel divides the time of such threads between cgroups (version 1 with
// CONFIG_RT_GROUP_SCHED) a new cgroup has none, and so refuses them. Elsewhere
// it has nothing to do.
func AllowRealtime(hierarchies []Hierarchy, path string, share float64) error {
	for _, h := range hierarchies {
		if h.Unified || !slices.Contains(h.Controllers, "cpu") {
			continue
		}
		if err := allowRealtime(h.Path, path, share); err != nil {
			return fmt.Errorf("allowing real-time threads in cgroup %s: %w", path, err)
		}
	}
	return nil
}

// allowRealtime goes from the top down: a cgroup can have no more than is left
// of the one above it. Those on the way have as much as their neighbours will
// need too.
func allowRealtime(root, path string, share float64) error {
	dir := root
	names := strings.Split(strings.Trim(path, "/"), "/")
	for i, name := range names {
		dir = filepath.Join(dir, name)
		want := share
		if i < len(names)-1 {
			want = max(share, 0.8)
		}
		if err := raiseRealtime(dir, want); err != nil {
			return err
		}
	}
	below, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range below {
		if !e.IsDir() {
			continue
		}
		// The sandbox's own container is among them, and needs none: each has a
		// part.
		if err := raiseRealtime(filepath.Join(dir, e.Name()), share/float64(directories(below))); err != nil {
			return err
		}
	}
	return nil
}

func directories(entries []fs.DirEntry) (n int) {
	for _, e := range entries {
		if e.IsDir() {
			n++
		}
	}
	return n
}

// raiseRealtime gives a cgroup a share of each CPU's time for real-time
// threads, unless it has more already.
func raiseRealtime(dir string, share float64) error {
	period, err := readNumber(filepath.Join(dir, "cpu.rt_period_us"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the kernel does not divide it
	}
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "cpu.rt_runtime_us")
	have, err := readNumber(file)
	if err != nil {
		return err
	}
	want := int64(share * float64(period))
	if have >= want {
		return nil
	}
	return os.WriteFile(file, strconv.AppendInt(nil, want, 10), 0)
}

func readNumber(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
