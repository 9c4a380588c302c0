package sampler

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// Options say what to sample.
type Options struct {
	// Cgroups and Proc are where the node's /sys/fs/cgroup and /proc are.
	Cgroups, Proc string
	// Pod is the UID of the sampler's own pod: where its cgroup is, its kubelet's
	// pods are. A machine may have several kubelets.
	Pod string
	// Interval is from one sample to the next: 0 means DefaultInterval.
	Interval time.Duration
	// Token is what whoever asks must know.
	Token string
}

// Bounds of the interval.
const (
	DefaultInterval = time.Second
	LeastInterval   = 100 * time.Millisecond
)

// A Sampler samples one node while Run does. It answers as an http.Handler.
type Sampler struct {
	options  Options
	instance string
	start    time.Time
	origin   int64 // of the clock: its reading at start
	tree     *cgroup.Tree
	watcher  *fsnotify.Watcher
	log      log
	now      chan chan struct{} // whoever wants a sample at once

	// What follows is Run's alone.
	node, pods *group
	byPath     map[string]*group
	tick       int // counts samples
	// bereft are parents of which a child is gone.
	bereft []*group
}

// New finds the node's cgroups.
func New(o Options) (*Sampler, error) {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	switch {
	case o.Token == "":
		return nil, errors.New("a sampler without a token would answer to anybody")
	case o.Pod == "":
		return nil, errors.New("the UID of the sampler's own pod is missing")
	case o.Interval < LeastInterval:
		return nil, fmt.Errorf("an interval of %v is too short: at least %v", o.Interval, LeastInterval)
	}
	tree, err := cgroup.Open(o.Cgroups)
	if err != nil {
		return nil, err
	}
	s := &Sampler{
		options: o, instance: rand.Text(), start: time.Now(), tree: tree,
		now: make(chan chan struct{}), byPath: map[string]*group{},
	}
	s.origin = s.start.UnixNano()
	if s.watcher, err = fsnotify.NewBufferedWatcher(4096); err != nil {
		return nil, fmt.Errorf("watch cgroups: %w", err)
	}
	if err := s.scan(); err != nil {
		return nil, errors.Join(err, s.watcher.Close())
	}
	return s, nil
}

func (s *Sampler) clock() int64 { return s.origin + int64(time.Since(s.start)) }

// podsRoot finds the cgroup of all pods of the sampler's own kubelet.
func (s *Sampler) podsRoot() (string, error) {
	own, err := s.tree.Find(func(name string) bool {
		uid, ok := cgroup.Pod(name)
		return ok && uid == s.options.Pod
	})
	if err != nil {
		return "", fmt.Errorf("find the sampler's own pod %s: %w", s.options.Pod, err)
	}
	parts := strings.Split(own, "/")
	for i, part := range parts {
		if cgroup.PodsRoot(part) {
			return strings.Join(parts[:i+1], "/"), nil
		}
	}
	return "", fmt.Errorf("cgroup %s of the sampler's own pod is below none that is named kubepods", own)
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) error {
	defer s.close()
	ticker := time.NewTicker(s.options.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.sample(false)
		case event := <-s.watcher.Events:
			s.event(event)
		case err := <-s.watcher.Errors:
			s.overflow(err)
		case done := <-s.now:
			s.sample(true)
			close(done)
		}
	}
}

// sampleNow reads everything, in Run's goroutine.
func (s *Sampler) sampleNow(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case s.now <- done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sample reads what has moved, or everything.
func (s *Sampler) sample(whole bool) {
	s.tick++
	s.findNetworks()
	s.visit(s.node, whole)
	s.mourn()
}

// visit reads a group and those in it. Where a pod stood still, so did all in it.
func (s *Sampler) visit(g *group, whole bool) {
	moved, err := s.read(g, whole || g.Kind == reading.Node)
	if err != nil {
		return
	}
	for _, child := range g.children {
		if g.Kind == reading.Pod && !moved {
			child.checked = g.checked
		} else {
			s.visit(child, whole)
		}
	}
}

// read reads and logs one group. Of one that is gone, the parent is noted.
func (s *Sampler) read(g *group, whole bool) (moved bool, err error) {
	r, moved, err := g.read(s.clock, whole, s.tick)
	switch {
	case errors.Is(err, cgroup.ErrGone):
		s.bereft = append(s.bereft, g.parent)
		return false, err
	case err != nil:
		s.log.complain(err)
		return false, err
	case !moved:
		return false, nil
	}
	if g.Kind == reading.Node {
		if err := completeNode(s.options.Proc, &r.Counters); err != nil {
			s.log.complain(err)
		}
	}
	s.log.put(r)
	return true, nil
}

func (s *Sampler) close() {
	for _, g := range s.byPath {
		g.close()
	}
	// Nothing is lost with a watch that has ended.
	_ = s.watcher.Close()
}

func (g *group) close() {
	g.cgroup.Close()
	if g.network != nil {
		g.network.close()
		g.network = nil
	}
}
