package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
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
	delay  func(fault.Faults) time.Duration
	log    *slog.Logger

	mu     sync.Mutex
	wishes []wish // in the order in which they came
	wake   chan struct{}

	written map[string]written // by kind and key; only run uses it
}

// A wish is what all statuses should be from an instant on, of objects as a
// cache shows them.
type wish struct {
	due      time.Time
	cache    client.Reader
	statuses []status
}

// written is what was last known of an object.
type written struct {
	// wanted was found or brought there in the version.
	wanted  any
	version string
	// replaced are the versions that our writes replaced: the cache may still
	// show them.
	replaced []string
}

const (
	between = 50 * time.Millisecond
	workers = 8
)

func newWriter(writes client.Client, faults *fault.Switch, delay func(fault.Faults) time.Duration, log *slog.Logger) *writer {
	return &writer{writes: writes, faults: faults, delay: delay, log: log, wake: make(chan struct{}, 1), written: map[string]written{}}
}

// want says what all statuses should be: from now on, or as much later as
// faults say.
func (w *writer) want(cache client.Reader, all []status) {
	delay := w.delay(w.faults.Now())
	w.mu.Lock()
	w.wishes = append(w.wishes, wish{time.Now().Add(delay), cache, all})
	w.mu.Unlock()
	if delay == 0 {
		w.poke()
	} else {
		time.AfterFunc(delay, w.poke)
	}
}

// due is the latest wish that is due. There may be none yet.
func (w *writer) due() wish {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, one := range slices.Backward(w.wishes) {
		if !one.due.After(time.Now()) {
			w.wishes = slices.Delete(w.wishes, 0, i)
			return one
		}
	}
	return wish{}
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
		if now := w.due(); now.cache != nil {
			w.round(ctx, now.cache, now.statuses)
		}
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
	case slices.Contains(last.replaced, version):
		return last, nil // the cache does not show our own write yet; when it does, we are called again
	case version == last.version && reflect.DeepEqual(s.wanted, last.wanted):
		return last, nil
	}
	changed := now.DeepCopyObject().(client.Object)
	s.into(changed)
	if equality.Semantic.DeepEqual(now, changed) {
		return written{wanted: s.wanted, version: version}, nil
	}
	var replaced []string
	for _, step := range stepsTo(w.faults.Now(), now, changed) {
		step.SetResourceVersion(version)
		err := w.writes.Status().Update(ctx, step)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return last, nil // somebody was faster: the cache will show it
		}
		if err != nil {
			return last, err
		}
		if next := step.GetResourceVersion(); next != version {
			replaced, version = append(replaced, version), next
		}
	}
	return written{wanted: s.wanted, version: version, replaced: replaced}, nil
}
