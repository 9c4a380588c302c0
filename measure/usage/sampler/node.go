package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
)

// completeNode adds what the kernel tells of the whole machine outside of its
// root cgroup: version 2 has no memory there, and version 1 no pressure at all.
func completeNode(proc string, c *cgroup.Counters) error {
	for _, p := range []struct {
		name string
		to   *int64
	}{{"cpu", &c.StallCPU}, {"memory", &c.StallMemory}, {"io", &c.StallIO}} {
		text, err := os.ReadFile(filepath.Join(proc, "pressure", p.name))
		if err != nil {
			continue // kernels may be built or started without
		}
		if *p.to, err = cgroup.Stall(text); err != nil {
			return fmt.Errorf("pressure/%s: %w", p.name, err)
		}
	}
	if c.Usage != cgroup.Unknown {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	total, err1 := memory(text, "MemTotal")
	free, err2 := memory(text, "MemFree")
	inactive, err3 := memory(text, "Inactive(file)")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	c.Usage = total - free
	c.WorkingSet = max(0, c.Usage-inactive)
	return nil
}

// memory finds a line such as "MemFree:  123 kB", in bytes.
func memory(text []byte, key string) (int64, error) {
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(name) != key {
			continue
		}
		number, ok := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := strconv.ParseInt(string(number), 10, 64)
		if !ok || err != nil {
			return 0, fmt.Errorf("meminfo: cannot read %q", line)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("meminfo: no %s", key)
}
