package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

// Options say whom to ask.
type Options struct {
	Kube *kube.Client
	// Namespace is where the samplers are, Token what they answer to.
	Namespace, Token string
	// Kubelets asks the kubelets instead.
	Kubelets bool
	// Poll is how often to ask: 0 means every 2 s, and every 10 s for kubelets,
	// whose numbers are about that old anyway.
	Poll time.Duration
	// Dial opens connections to samplers. nil dials from here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// An Observer collects what is read until it is closed.
type Observer struct {
	options Options
	start   time.Time
	pods    *history.Watcher
	cancel  context.CancelFunc
	done    sync.WaitGroup
	source  source

	mu     sync.Mutex
	known  map[string]*Pod    // by UID
	series map[string]*series // by node and path
	ticks  map[string][]int64 // instants of a node's readings
	every  map[string]int64   // interval by node
	faults map[string]string  // by node
}

// A source is where readings come from.
type source interface {
	// poll asks each node for what is new. With now, everything is read first,
	// where that can be had.
	poll(ctx context.Context, now bool) error
}

// firstLimit bounds how long the first answers of all nodes may take.
const firstLimit = time.Minute

// Start learns who every pod is, asks each node once, and goes on asking.
func Start(ctx context.Context, o Options) (*Observer, error) {
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
		if o.Kubelets {
			o.Poll = 10 * time.Second
		}
	}
	ob := &Observer{
		options: o, start: time.Now(), known: map[string]*Pod{}, series: map[string]*series{},
		ticks: map[string][]int64{}, every: map[string]int64{}, faults: map[string]string{},
	}
	if o.Kubelets {
		ob.source = newKubelets(ob)
	} else {
		ob.source = newSamplers(ob)
	}
	ctx, ob.cancel = context.WithCancel(ctx)
	var err error
	if ob.pods, err = watchPods(ctx, o.Kube, ob.identify); err != nil {
		ob.cancel()
		return nil, err
	}
	if err := ob.first(ctx); err != nil {
		ob.Close()
		return nil, err
	}
	ob.done.Go(func() { ob.follow(ctx) })
	return ob, nil
}

// patience is how long samplers that are not ready are waited for: one on a node
// that is down never will be.
const patience = 30 * time.Second

// first asks until every node has answered: samplers may be just starting.
func (ob *Observer) first(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstLimit)
	defer cancel()
	for {
		// Before the question: one that is ready after it has not been asked.
		ready := ob.starting() == 0
		err := ob.source.poll(ctx, true)
		if err == nil && (ready || time.Since(ob.start) > patience) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the first reading of resource use: %w", errors.Join(err, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// starting counts samplers that are not ready.
func (ob *Observer) starting() (n int) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	for _, pod := range ob.known {
		if ob.isSampler(pod) && !pod.gone && !pod.ready {
			n++
		}
	}
	return n
}

func (ob *Observer) isSampler(p *Pod) bool {
	return !ob.options.Kubelets && p.Namespace == ob.options.Namespace && p.Labels["app"] == SamplerName
}

func (ob *Observer) follow(ctx context.Context) {
	ticker := time.NewTicker(ob.options.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// What fails is noted for its node, and seen as readings that are missing.
			_ = ob.source.poll(ctx, false)
		}
	}
}

// Edge has everything read now: an edge of a window needs its own readings. It
// returns when they are here. Without them, the edge is interpolated.
func (ob *Observer) Edge(ctx context.Context) error { return ob.source.poll(ctx, true) }

// Close stops asking. Windows can still be had.
func (ob *Observer) Close() {
	ob.cancel()
	ob.done.Wait()
	ob.pods.Stop()
}

func (ob *Observer) identify(uid string, o *podObject, gone bool) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	p := ob.known[uid]
	if p == nil {
		p = &Pod{UID: uid}
		ob.known[uid] = p
	}
	p.update(o, gone)
}

// record takes readings of a node. clock maps instants to nanoseconds since the
// observer's start.
func (ob *Observer) record(node string, groups []reading.Group, readings []reading.Reading, clock func(int64) int64) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	for _, r := range readings {
		g := groups[r.Group]
		key := node + " " + g.Path
		s := ob.series[key]
		if s == nil {
			s = &series{node: node, group: g}
			ob.series[key] = s
		}
		at := clock(r.At)
		s.add(r, at, clock(r.Since))
		if g.Kind == reading.Node {
			ob.ticks[node] = append(ob.ticks[node], at)
		}
	}
}

func (ob *Observer) fault(node string, err error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err != nil {
		ob.faults[node] = err.Error()
	}
}

// SamplerName is the name of the samplers' DaemonSet, and their label app.
const SamplerName = "sampler"

// samplers asks the samplers.
type samplers struct {
	observer *Observer
	mu       sync.Mutex // of a round of questions
	remotes  map[string]*remote
}

func newSamplers(ob *Observer) *samplers {
	return &samplers{observer: ob, remotes: map[string]*remote{}}
}

func (s *samplers) poll(ctx context.Context, now bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find()
	if len(s.remotes) == 0 {
		return fmt.Errorf("no sampler runs in namespace %s", s.observer.options.Namespace)
	}
	var all []error
	var mu sync.Mutex
	group := errgroup.Group{}
	group.SetLimit(64)
	for _, r := range s.remotes {
		group.Go(func() error {
			if err := s.one(ctx, r, now); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, err)
			}
			return nil
		})
	}
	_ = group.Wait() // each error is kept
	return errors.Join(all...)
}

func (s *samplers) one(ctx context.Context, r *remote, now bool) error {
	if len(r.clock.recent) == 0 {
		// Short questions tell most of the clock.
		for range 4 {
			if _, err := s.take(ctx, r, false); err != nil {
				return err
			}
		}
	}
	_, err := s.take(ctx, r, now)
	return err
}

func (s *samplers) take(ctx context.Context, r *remote, now bool) (*reading.Answer, error) {
	a, err := r.ask(ctx, now)
	if err == nil && a.Problem != "" {
		s.observer.fault(r.node, errors.New(a.Problem))
	}
	if err != nil {
		s.observer.fault(r.node, err)
		return nil, err
	}
	ob := s.observer
	ahead := int64(r.clock.best().ahead)
	ob.record(r.node, r.paths, a.Readings, func(at int64) int64 { return at - ahead })
	ob.mu.Lock()
	ob.every[r.node] = a.Interval
	ob.mu.Unlock()
	return a, nil
}

// find learns of samplers that came, and forgets those that went.
func (s *samplers) find() {
	ob := s.observer
	ob.mu.Lock()
	defer ob.mu.Unlock()
	there := map[string]bool{}
	for _, pod := range ob.known {
		if !ob.isSampler(pod) || !pod.ready || pod.ip == "" {
			continue
		}
		there[pod.UID] = true
		if s.remotes[pod.UID] == nil {
			s.remotes[pod.UID] = &remote{
				node: pod.Node, address: net.JoinHostPort(pod.ip, strconv.Itoa(reading.Port)),
				token: ob.options.Token, http: newHTTP(ob.options.Dial), start: ob.start,
			}
		}
	}
	maps.DeleteFunc(s.remotes, func(uid string, r *remote) bool {
		if !there[uid] {
			r.http.CloseIdleConnections()
		}
		return !there[uid]
	})
}

// Nodes are those that readings came from, sorted.
func (ob *Observer) Nodes() []string {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	return slices.Sorted(maps.Keys(ob.ticks))
}
