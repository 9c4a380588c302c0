package sampler

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// mourn sees to the parents of which a child is gone.
func (s *Sampler) mourn() {
	for len(s.bereft) > 0 {
		parent := s.bereft[0]
		s.bereft = s.bereft[1:]
		if parent != nil && s.byPath[parent.Path] == parent {
			s.settle(parent)
		}
	}
}

// settle gives each child that is gone its last reading.
func (s *Sampler) settle(parent *group) {
	var dead []*group
	for _, child := range parent.children {
		if _, err := child.cgroup.CPU(); child.ended || errors.Is(err, cgroup.ErrGone) {
			dead = append(dead, child)
		}
	}
	if len(dead) == 0 {
		return
	}
	if parent.Kind == reading.Node || allWereEmpty(dead) {
		// Nothing ran in them after their last reading, or nobody knows.
		for _, g := range dead {
			r := g.last
			r.At, r.Since, r.Gone = s.clock(), g.checked, true
			parent.buried += r.CPU
			s.bury(g, r)
		}
		return
	}
	if parent.Kind == reading.Pod && parent.network == nil {
		parent.search = 0
		s.findNetworks() // the last chance
	}
	// The parent's counter first and then its living children's, so that nothing
	// of theirs is taken for the dead's.
	if _, err := s.read(parent, true); err != nil {
		return // it is gone too, and takes them along
	}
	for _, child := range parent.children {
		if !slices.Contains(dead, child) {
			_, _ = s.read(child, false) // one that is gone by now is settled next
		}
	}
	for i, r := range (funeral{parent, dead}).bury(s.clock()) {
		s.bury(dead[i], r)
	}
}

// allWereEmpty reports whether all were pods that had no container any more
// when they were read last.
func allWereEmpty(dead []*group) bool {
	for _, g := range dead {
		if g.Kind != reading.Pod || len(g.children) > 0 || g.buried == 0 {
			return false
		}
	}
	return true
}

// bury logs a group's last reading and forgets it, with all in it.
func (s *Sampler) bury(g *group, last reading.Reading) {
	last.Usage, last.WorkingSet, last.Anon = 0, 0, 0
	s.log.put(last)
	g.last = last
	if len(g.children) > 0 {
		children := append([]*group(nil), g.children...)
		for i, r := range (funeral{g, children}).bury(last.At) {
			s.bury(children[i], r)
		}
	}
	delete(s.byPath, g.Path)
	if g.parent != nil {
		g.parent.children = slices.DeleteFunc(g.parent.children, func(other *group) bool { return other == g })
	}
	if g.Kind == reading.Pods || g.Kind == reading.Pod {
		_ = s.watcher.Remove(s.tree.Dir(g.Path)) // the kernel may have done so already
	}
	g.close()
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
