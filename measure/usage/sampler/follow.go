package sampler

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// scan finds all groups that there are, and watches where others may appear.
func (s *Sampler) scan() error {
	root, err := s.podsRoot()
	if err != nil {
		return err
	}
	if s.node, err = s.follow(nil, reading.Group{Kind: reading.Node, Path: "/"}); err != nil {
		return err
	}
	if s.pods, err = s.follow(s.node, reading.Group{Kind: reading.Pods, Path: root}); err != nil {
		return err
	}
	if err := s.others(root); err != nil {
		return err
	}
	if err := s.fill(s.pods); err != nil {
		return err
	}
	for _, g := range s.byPath {
		// What they had used before belongs to children of the past.
		g.buried = max(0, g.last.CPU-sum(g.children))
	}
	return nil
}

// others follows what runs beside the pods: everything right below the groups
// that lead to them, and the services of a system's slice one by one.
func (s *Sampler) others(podsRoot string) error {
	for above := filepath.Dir(podsRoot); ; above = filepath.Dir(above) {
		if err := s.beside(above, podsRoot); err != nil {
			return err
		}
		if above == "/" {
			return nil
		}
	}
}

func (s *Sampler) beside(above, podsRoot string) error {
	if err := s.watch(above); err != nil {
		return err
	}
	names, err := s.tree.Children(above)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(above, name)
		switch {
		case path == podsRoot || strings.HasPrefix(podsRoot, path+"/"):
			continue
		case name == "system.slice":
			if err := s.beside(path, podsRoot); err != nil {
				return err
			}
		default:
			if err := s.found(s.node, reading.Group{Kind: reading.Other, Path: path}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill follows the children of pods and of groups of pods.
func (s *Sampler) fill(g *group) error {
	if err := s.watch(g.Path); err != nil {
		return err
	}
	names, err := s.tree.Children(g.Path)
	if err != nil {
		if errors.Is(err, cgroup.ErrGone) {
			return nil
		}
		return err
	}
	for _, name := range names {
		if child, ok := childOf(g.Group, name); ok {
			if err := s.found(g, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// childOf tells what a cgroup is by its name and its parent's kind.
func childOf(parent reading.Group, name string) (reading.Group, bool) {
	path := filepath.Join(parent.Path, name)
	switch parent.Kind {
	case reading.Pods:
		if uid, ok := cgroup.Pod(name); ok {
			return reading.Group{Kind: reading.Pod, Path: path, Pod: uid}, true
		}
		return reading.Group{Kind: reading.Pods, Path: path}, true
	case reading.Pod:
		id, ok := cgroup.Container(name)
		return reading.Group{Kind: reading.Container, Path: path, Pod: parent.Pod, Container: id}, ok
	case reading.Node, reading.Container, reading.Other:
	}
	return reading.Group{}, false
}

// found follows a group and all in it. That it is gone already is no error.
func (s *Sampler) found(parent *group, as reading.Group) error {
	g, err := s.follow(parent, as)
	if errors.Is(err, cgroup.ErrGone) {
		return nil
	}
	if err != nil || as.Kind == reading.Container || as.Kind == reading.Other {
		return err
	}
	return s.fill(g)
}

func (s *Sampler) follow(parent *group, as reading.Group) (*group, error) {
	opened, err := s.tree.Group(as.Path)
	if err != nil {
		return nil, err
	}
	g := &group{Group: as, cgroup: opened, parent: parent, number: s.log.add(as)}
	s.byPath[as.Path] = g
	if parent != nil {
		parent.children = append(parent.children, g)
	}
	if _, err := s.read(g, true); err != nil && !errors.Is(err, cgroup.ErrGone) {
		return nil, err
	}
	return g, nil
}

func sum(children []*group) (cpu int64) {
	for _, child := range children {
		cpu += child.last.CPU
	}
	return cpu
}

func (s *Sampler) watch(path string) error {
	err := s.watcher.Add(s.tree.Dir(path))
	if err != nil && !isAbsent(err) {
		return fmt.Errorf("watch cgroup %s: %w", path, err)
	}
	return nil
}

// event follows what appears, and buries what is gone.
func (s *Sampler) event(e fsnotify.Event) {
	path := s.tree.Path(e.Name)
	switch {
	case e.Has(fsnotify.Create):
		if err := s.born(path); err != nil {
			s.log.complain(err)
		}
	case e.Has(fsnotify.Remove):
		s.ended(path)
	}
	s.mourn()
}

func (s *Sampler) ended(path string) {
	if g := s.byPath[path]; g != nil {
		g.ended = true
		s.bereft = append(s.bereft, g.parent)
		return
	}
	// One that came and went too fast to be followed has left its traces in the
	// one above.
	if above := s.byPath[filepath.Dir(path)]; above != nil && above.Kind == reading.Pod {
		_, _ = s.read(above, true) // a failure is noted
	}
}

// born follows a group that was made just now: its counters began at zero.
func (s *Sampler) born(path string) error {
	above := filepath.Dir(path)
	parent := s.byPath[above]
	if parent == nil || parent.Kind == reading.Node {
		if !isDir(s.tree.Dir(path)) || s.byPath[path] != nil || strings.HasPrefix(s.pods.Path, path+"/") {
			return nil
		}
		return s.newborn(s.node, reading.Group{Kind: reading.Other, Path: path})
	}
	as, ok := childOf(parent.Group, filepath.Base(path))
	if !ok || s.byPath[path] != nil || !isDir(s.tree.Dir(path)) {
		return nil
	}
	return s.newborn(parent, as)
}

func (s *Sampler) newborn(parent *group, as reading.Group) error {
	opened, err := s.tree.Group(as.Path)
	if errors.Is(err, cgroup.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	g := &group{Group: as, cgroup: opened, parent: parent, number: s.log.add(as)}
	g.last = reading.Reading{Group: g.number, At: s.clock()}
	g.checked = g.last.At
	s.byPath[as.Path] = g
	parent.children = append(parent.children, g)
	s.log.put(g.last)
	if as.Kind == reading.Container || as.Kind == reading.Other {
		return nil
	}
	// Its children may have been there before the watch was.
	if err := s.watch(as.Path); err != nil {
		return err
	}
	names, err := s.tree.Children(as.Path)
	if err != nil {
		return nil // its end will be noticed
	}
	for _, name := range names {
		if child, ok := childOf(as, name); ok {
			if err := s.newborn(g, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// overflow looks at everything again: events were lost.
func (s *Sampler) overflow(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		s.log.complain(err)
		return
	}
	for _, g := range slices.Collect(maps.Values(s.byPath)) {
		if _, err := g.cgroup.CPU(); errors.Is(err, cgroup.ErrGone) {
			s.bereft = append(s.bereft, g.parent)
			continue
		}
		if g.Kind != reading.Pods && g.Kind != reading.Pod {
			continue
		}
		names, err := s.tree.Children(g.Path)
		for _, name := range names {
			err = errors.Join(err, s.born(filepath.Join(g.Path, name)))
		}
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			s.log.complain(err)
		}
	}
	s.mourn()
}
