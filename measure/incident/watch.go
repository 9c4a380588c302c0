package incident

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
)

// A Selection is some pods of an implementation.
type Selection struct {
	Role Role
	// Namespace is empty for all; Selector is a label selector.
	Namespace, Selector string
}

// Options says what to watch.
type Options struct {
	// Selections may overlap: a pod belongs to the first one that it was seen
	// in.
	Selections []Selection
	// Since is where the trial before ended; nil to count from now.
	Since *Baseline
	// LogLines is how much of a log to keep: 50 by default.
	LogLines int64
}

// A Watcher notices incidents until it is stopped.
type Watcher struct {
	client  *kube.Client
	lines   int64
	ctx     context.Context // of log requests, which outlive a callback
	pending sync.WaitGroup
	watches []*history.Watcher

	mu      sync.Mutex
	tracker *tracker
	// owner is the selection that a pod was first seen in. Another one's watch
	// may lag behind and must not tell the same again, even when it is gone.
	owner    map[types.UID]int
	expected map[Role][]*string
}

// Start begins to watch. It returns when every selection's state is known.
func Start(ctx context.Context, c *kube.Client, o Options) (*Watcher, error) {
	w := &Watcher{
		client: c, lines: o.LogLines, ctx: ctx,
		tracker: newTracker(o.Since), owner: map[types.UID]int{}, expected: map[Role][]*string{},
	}
	if w.lines == 0 {
		w.lines = 50
	}
	for n, s := range o.Selections {
		h, err := history.Start(ctx, c, corev1.SchemeGroupVersion.WithKind("Pod"),
			history.Options{Namespace: s.Namespace, LabelSelector: s.Selector},
			func(e history.Event[corev1.Pod]) { w.record(n, s.Role, e) })
		if err != nil {
			for _, h := range w.watches {
				h.Stop()
			}
			return nil, fmt.Errorf("watch the pods of the %s (%s in %s): %w", s.Role, s.Selector, s.Namespace, err)
		}
		w.watches = append(w.watches, h)
	}
	return w, nil
}

// Expect declares what happens to pods of a role as done on purpose, until the
// function that it returns is called. OOM kills are never on purpose.
func (w *Watcher) Expect(role Role, why string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mark := &why
	w.expected[role] = append(w.expected[role], mark)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, m := range w.expected[role] {
			if m == mark {
				w.expected[role] = append(w.expected[role][:i], w.expected[role][i+1:]...)
				return
			}
		}
	}
}

// Incidents returns what has happened so far, while logs may still be on
// their way.
func (w *Watcher) Incidents() []Incident {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Incident(nil), w.tracker.incidents...)
}

// Stop ends the watch, waits until the logs have come or patience is over,
// and reports.
func (w *Watcher) Stop(patience time.Duration) Report {
	var r Report
	for _, h := range w.watches {
		r.Histories = append(r.Histories, h.Stop())
	}
	logs := make(chan struct{})
	go func() {
		w.pending.Wait()
		close(logs)
	}()
	select {
	case <-logs:
	case <-time.After(patience):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Incidents = append([]Incident(nil), w.tracker.incidents...)
	r.Baseline = w.tracker.baseline()
	return r
}

func (w *Watcher) record(selection int, role Role, e history.Event[corev1.Pod]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pod := e.Object
	if first, ok := w.owner[pod.UID]; ok && first != selection {
		return
	}
	w.owner[pod.UID] = selection
	fresh := w.tracker.observe(role, pod, e.At, e.Listed)
	for _, at := range fresh {
		i := &w.tracker.incidents[at]
		if marks := w.expected[role]; len(marks) > 0 && i.Kind != OOMKill {
			i.Expected = *marks[len(marks)-1]
		}
		incident := *i
		w.pending.Go(func() { w.explain(at, incident, pod) })
	}
	if e.Type == watch.Deleted {
		w.tracker.forget(pod, e.At)
	}
}

// explain fetches what the cluster still knows, before it forgets.
func (w *Watcher) explain(at int, i Incident, pod *corev1.Pod) {
	var log string
	if i.Container != "" {
		log = w.lastLog(pod, i.Container)
	}
	events := w.events(pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracker.incidents[at].Log, w.tracker.incidents[at].Events = log, events
}
