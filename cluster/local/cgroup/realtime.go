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

// AllowRealtime lets threads in the cgroup at path run before all ordinary
// ones, for share of each CPU's time at most. Where the kernel divides the time
// of such threads between cgroups (version 1 with CONFIG_RT_GROUP_SCHED) a new
// cgroup has none, and so refuses them. Elsewhere it has nothing to do.
func AllowRealtime(hierarchies []Hierarchy, path string, share float64) error {
	for _, h := range hierarchies {
		if h.Unified || !slices.Contains(h.Controllers, "cpu") {
			continue
		}
		if err := allowRealtime(h.Path, strings.Split(strings.Trim(path, "/"), "/"), share); err != nil {
			return fmt.Errorf("allowing real-time threads in cgroup %s: %w", path, err)
		}
	}
	return nil
}

// allowRealtime finds from the bottom up what each cgroup needs: as much as all
// right below it have. It gives it from the top down, because a cgroup can have
// no more than is left of the one above it.
func allowRealtime(root string, names []string, share float64) error {
	dir := filepath.Join(append([]string{root}, names...)...)
	period, err := readNumber(filepath.Join(dir, periodFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the kernel does not divide it
	}
	if err != nil {
		return err
	}
	needs := make([]int64, len(names))
	need := int64(share * float64(period))
	for i := len(names) - 1; i >= 0; i-- {
		have, err := readNumber(filepath.Join(dir, runtimeFile))
		if err != nil {
			return err
		}
		needs[i] = max(have, need)
		above := filepath.Dir(dir)
		others, err := runtimeBelow(above, names[i])
		if err != nil {
			return err
		}
		dir, need = above, others+needs[i]
	}
	for i, name := range names {
		dir = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, runtimeFile), strconv.AppendInt(nil, needs[i], 10), 0); err != nil {
			return err
		}
	}
	return nil
}

const (
	periodFile  = "cpu.rt_period_us"
	runtimeFile = "cpu.rt_runtime_us"
)

// runtimeBelow is what the cgroups right below dir have, but for one.
func runtimeBelow(dir, but string) (sum int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == but {
			continue
		}
		n, err := readNumber(filepath.Join(dir, e.Name(), runtimeFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have gone
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func readNumber(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
