package history

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/kube"
)

// An Event is one version of one object.
type Event[T any] struct {
	// Type is added, modified or deleted, as the API server says. An object
	// that was there when the history began is added too, with Listed set.
	Type   watch.EventType
	Object *T
	// At is when it arrived, with a monotonic reading.
	At time.Time
	// Listed marks the state at the beginning, and the state after a Loss: it
	// was so At, but did not become so then.
	Listed bool
}

// Options select the objects.
type Options struct {
	// Namespace is empty for all of them.
	Namespace string
	// LabelSelector and FieldSelector are in the API's own syntax.
	LabelSelector, FieldSelector string
}

// An Object of type T tells its version. Every API type does; a struct that
// holds only what a reader needs decodes faster, and can embed Meta.
type Object[T any] interface {
	*T
	GetNamespace() string
	GetName() string
	GetResourceVersion() string
}

// A Watcher is a history being recorded.
type Watcher struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	report Report
}

// Start lists the objects, calls record with each, and returns when the watch
// is established from that very version: nothing later is missed. After that
// record is called from one goroutine, in the API server's order. ctx bounds
// the whole history; Stop ends it.
func Start[T any, P Object[T]](ctx context.Context, c *kube.Client, gvk schema.GroupVersionKind, o Options, record func(Event[T])) (*Watcher, error) {
	wrap := func(err error) error { return fmt.Errorf("watch %s: %w", gvk.Kind, err) }
	source, err := newSource(c, gvk, o)
	if err != nil {
		return nil, wrap(err)
	}
	started := time.Now()
	version, err := list(ctx, source, record)
	if err != nil {
		return nil, wrap(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := source.watch(ctx, version)
	if err != nil {
		cancel()
		return nil, wrap(err)
	}
	w := &Watcher{cancel: cancel, report: Report{Kind: gvk.Kind, Started: started}}
	f := &follower[T, P]{watcher: w, source: source, record: record, queue: newQueue(), version: version}
	w.done.Go(func() { f.read(ctx, stream) })
	w.done.Go(f.decode)
	return w, nil
}

// Stop ends the watch, waits until everything that arrived was recorded, and
// returns what is to be said of the history as a whole. Further calls return
// the same.
func (w *Watcher) Stop() Report {
	w.cancel()
	w.done.Wait()
	return w.Report()
}

// Report returns the state so far.
func (w *Watcher) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.report
	r.Losses = append([]Loss(nil), r.Losses...)
	r.Gaps = append([]Gap(nil), r.Gaps...)
	return r
}

func (w *Watcher) note(change func(*Report)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.report)
}
