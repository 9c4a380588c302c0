package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/truth/fault"
)

// A writer brings statuses to the API server. Between two rounds it waits a
// little, so that a burst of changes is written as a few.
type writer struct {
	writes client.Client
	faults *fault.Switch
	log    *slog.Logger

	mu     sync.Mutex
	cache  client.Reader
	wanted []status
	wake   chan struct{}

	written map[string]written // by kind and key; only run uses it
}

// written is what was last known of an object.
type written struct {
	// wanted was found or brought there in the version.
	wanted  any
	version string
	// replaced is the version that our write replaced: the cache may still
	// show it.
	replaced string
}

const (
	between = 50 * time.Millisecond
	workers = 8
)

func newWriter(writes client.Client, faults *fault.Switch, log *slog.Logger) *writer {
	return &writer{writes: writes, faults: faults, log: log, wake: make(chan struct{}, 1), written: map[string]written{}}
}

// want says what all statuses should be from now on, of objects as the cache
// shows them.
func (w *writer) want(cache client.Reader, all []status) {
	w.mu.Lock()
	w.cache, w.wanted = cache, all
	w.mu.Unlock()
	w.poke()
}

func (w *writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look
	}
}

// run writes until the context ends.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		if !sleep(ctx, w.faults.Now().BeforeStatus()) {
			return
		}
		w.mu.Lock()
		cache, wanted := w.cache, w.wanted
		w.mu.Unlock()
		w.round(ctx, cache, wanted)
		if !sleep(ctx, between) {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (w *writer) round(ctx context.Context, cache client.Reader, wanted []status) {
	var mu sync.Mutex
	seen := make(map[string]written, len(wanted))
	var group errgroup.Group
	group.SetLimit(workers)
	failed := false
	for _, s := range wanted {
		name := fmt.Sprintf("%T %s", s.object, client.ObjectKeyFromObject(s.object))
		last := w.written[name]
		group.Go(func() error {
			now, err := w.write(ctx, cache, s, last)
			mu.Lock()
			defer mu.Unlock()
			seen[name] = now
			if err != nil && ctx.Err() == nil {
				w.log.Error("write status", "object", name, "error", err)
				failed = true
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return none
	w.written = seen
	if failed {
		time.AfterFunc(time.Second, w.poke)
	}
}

// write brings one status to its object, where it differs.
func (w *writer) write(ctx context.Context, cache client.Reader, s status, last written) (written, error) {
	now := s.object.DeepCopyObject().(client.Object)
	if err := cache.Get(ctx, client.ObjectKeyFromObject(s.object), now); err != nil {
		return written{}, client.IgnoreNotFound(err)
	}
	version := now.GetResourceVersion()
	switch {
	case now.GetGeneration() != s.object.GetGeneration() || now.GetUID() != s.object.GetUID():
		return last, nil // a translation of the newer one is on its way
	case version == last.replaced:
		return last, nil // the cache does not show our own write yet; when it does, we are called again
	case version == last.version && reflect.DeepEqual(s.wanted, last.wanted):
		return last, nil
	}
	changed := now.DeepCopyObject().(client.Object)
	s.into(changed)
	if equality.Semantic.DeepEqual(now, changed) {
		return written{wanted: s.wanted, version: version}, nil
	}
	err := w.writes.Status().Update(ctx, changed)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return last, nil // somebody was faster: the cache will show it
	}
	if err != nil {
		return last, err
	}
	return written{wanted: s.wanted, version: changed.GetResourceVersion(), replaced: version}, nil
}
