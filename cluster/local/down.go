package local

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gatemark/gatemark/cluster/local/cgroup"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/cluster/local/supervisor"
)

// removal bounds how long ending processes may hold their cgroups.
const removal = 20 * time.Second

// Down removes the cluster of that name, "" for the default one, in stateDir,
// "" for the default one: its processes, its cgroups and its files, whatever
// state they are in. It returns false where there was nothing.
func Down(ctx context.Context, stateDir, name string) (bool, error) {
	o := Options{StateDir: stateDir, Name: name}
	if err := o.complete(); err != nil {
		return false, err
	}
	dir := layout.Of(o.StateDir, o.Name)
	there, err := leftovers(dir, o.Name)
	if err != nil || !there {
		return false, err
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return false, err
	}
	defer unlock()
	c := &Cluster{dir: dir, record: record{Name: o.Name}}
	if err := c.remove(ctx); err != nil {
		return false, fmt.Errorf("removing cluster %s: %w", o.Name, err)
	}
	return true, nil
}

// Down removes the cluster. It does no harm where it is gone already.
func (c *Cluster) Down(ctx context.Context) error {
	if c.control != nil {
		c.control.Close()
	}
	_, err := Down(ctx, c.dir.StateDir(), c.record.Name)
	return err
}

func leftovers(dir layout.Dir, name string) (bool, error) {
	if _, err := os.Lstat(string(dir)); err == nil {
		return true, nil
	}
	hierarchies, err := cgroup.Hierarchies()
	if err != nil {
		return false, err
	}
	return os.Geteuid() == 0 && cgroup.Exists(hierarchies, supervisor.CgroupRoot(name)), nil
}

// remove removes everything of the cluster. The caller holds its lock.
func (c *Cluster) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	r, ok, err := readRecord(c.dir.Process())
	if err != nil {
		return err
	}
	if ok {
		if err := r.kill(ctx); err != nil {
			return err
		}
	}
	if err := c.removeCgroups(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(string(c.dir)); err != nil {
		return fmt.Errorf("removing files: %w", err)
	}
	return nil
}

func (c *Cluster) removeCgroups(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return nil // there were none
	}
	hierarchies, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	if err := cgroup.Remove(ctx, hierarchies, supervisor.CgroupRoot(c.dir.Name())); err != nil {
		return err
	}
	cgroup.RemoveEmpty(hierarchies, supervisor.CgroupParent)
	return nil
}
