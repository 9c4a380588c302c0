package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Group is one cgroup that is read again and again.
type Group struct {
	tree *Tree
	path string
	// dirs of the three hierarchies.
	cpuDir, throttlingDir, memoryDir string
	fd                               int // of the file with the CPU time
	throttled                        int64
}

// Group opens the cgroup at a path such as /kubepods/burstable. What is in it
// is read when it is asked for. ErrGone says that there is none.
func (t *Tree) Group(path string) (*Group, error) {
	g := &Group{tree: t, path: path, cpuDir: filepath.Join(t.cpu, path), throttled: Unknown}
	if t.throttling != "" {
		g.throttlingDir = filepath.Join(t.throttling, path)
	}
	if t.memory != "" {
		g.memoryDir = filepath.Join(t.memory, path)
	}
	var err error
	if g.fd, err = open(filepath.Join(g.cpuDir, t.cpuFile())); err != nil {
		return nil, gone(err)
	}
	return g, nil
}

func (t *Tree) cpuFile() string {
	if t.Version == 2 {
		return "cpu.stat"
	}
	return "cpuacct.usage"
}

func gone(err error) error {
	if errors.Is(err, errAbsent) {
		return ErrGone
	}
	return err
}

// Close lets go of the file that is kept open.
func (g *Group) Close() {
	if g.fd >= 0 {
		unix.Close(g.fd) // nothing was written that could be lost
		g.fd = -1
	}
}

// CPU is the time used, in nanoseconds: one read of an open file. A cgroup in
// which it stands still has run nothing.
func (g *Group) CPU() (int64, error) {
	text, err := g.tree.buffer.pread(g.fd, g.cpuDir, g.tree.cpuFile())
	if err != nil {
		return 0, err
	}
	if g.tree.Version == 1 {
		n, err := number(text)
		return n, g.wrap(g.tree.cpuFile(), err)
	}
	used, err := field(text, "usage_usec")
	if err != nil {
		return 0, g.wrap("cpu.stat", err)
	}
	// The root, and kernels without bandwidth control, tell nothing of it.
	if n, err := field(text, "throttled_usec"); err == nil {
		g.throttled = n * 1000
	}
	return used * 1000, nil
}

// Read reads everything else. cpu is what CPU has just returned.
func (g *Group) Read(cpu int64) (Counters, error) {
	c := nothing(cpu)
	var err error
	if g.tree.Version == 2 {
		err = g.read2(&c)
	} else {
		err = g.read1(&c)
	}
	return c, err
}

func (g *Group) wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of cgroup %s: %w", name, g.path, err)
}

// A wanted is one value of a file. Files that are not there leave it Unknown:
// which there are depends on the kernel, and on the controllers that are on.
type wanted struct {
	to    *int64
	dir   string
	name  string
	parse func([]byte) (int64, error)
}

func (g *Group) collect(all ...wanted) error {
	for _, w := range all {
		if w.dir == "" {
			continue
		}
		text, err := g.tree.buffer.read(w.dir, w.name)
		switch {
		case errors.Is(err, errAbsent), errors.Is(err, unix.EOPNOTSUPP):
			continue // pressure may be switched off
		case err != nil:
			return err
		}
		if *w.to, err = w.parse(text); err != nil {
			return g.wrap(w.name, err)
		}
	}
	return nil
}
