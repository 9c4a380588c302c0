package attachedroutes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/scenario"
)

// attachedCounts records every attachedRoutes count that the statuses of a
// Gateway and of its ListenerSets ever showed, for each listener.
type attachedCounts struct {
	watchers  []*history.Watcher
	listeners []scenario.Listener

	mu       sync.Mutex
	versions []countVersion
	changed  chan struct{}
}

// A countVersion is what the statuses say together after one of them changed. A
// listener that is not in its status has count -1.
type countVersion struct {
	at     time.Time
	counts []int
}

func watchCounts(ctx context.Context, t *scenario.Trial, gateway string, listeners []scenario.Listener) (*attachedCounts, error) {
	c := &attachedCounts{listeners: listeners, changed: make(chan struct{})}
	watcher, err := history.Start(ctx, t.Kube, gatewayv1.SchemeGroupVersion.WithKind("Gateway"),
		history.Options{Namespace: t.Namespace, FieldSelector: "metadata.name=" + gateway}, c.record)
	if err != nil {
		return nil, err
	}
	c.watchers = append(c.watchers, watcher)
	if !slices.ContainsFunc(listeners, func(l scenario.Listener) bool { return l.Set != "" }) {
		return c, nil
	}
	watcher, err = history.Start(ctx, t.Kube, gatewayv1.SchemeGroupVersion.WithKind("ListenerSet"), history.Options{Namespace: t.Namespace}, c.recordSet)
	if err != nil {
		c.stop()
		return nil, err
	}
	c.watchers = append(c.watchers, watcher)
	return c, nil
}

func (c *attachedCounts) record(event history.Event[gatewayv1.Gateway]) {
	if event.Type == watch.Deleted {
		return
	}
	shown := map[string]int{}
	for _, status := range event.Object.Status.Listeners {
		shown[string(status.Name)] = int(status.AttachedRoutes)
	}
	c.take(event.At, "", shown)
}

func (c *attachedCounts) recordSet(event history.Event[gatewayv1.ListenerSet]) {
	if event.Type == watch.Deleted {
		return
	}
	shown := map[string]int{}
	for _, status := range event.Object.Status.Listeners {
		shown[string(status.Name)] = int(status.AttachedRoutes)
	}
	c.take(event.At, event.Object.Name, shown)
}

// take adds a version in which one status, the Gateway's or that of a set,
// shows other counts.
func (c *attachedCounts) take(at time.Time, set string, shown map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := countVersion{at, make([]int, len(c.listeners))}
	for i, l := range c.listeners {
		version.counts[i] = -1
		if n, ok := shown[l.Name]; ok && l.Set == set {
			version.counts[i] = n
		} else if l.Set != set && len(c.versions) > 0 {
			version.counts[i] = c.versions[len(c.versions)-1].counts[i]
		}
	}
	c.versions = append(c.versions, version)
	close(c.changed)
	c.changed = make(chan struct{})
}

// settle waits until every listener's count is want and stays so for hold, or
// until limit is over. It returns since when each listener's count is want;
// zero for one whose count is not.
func (c *attachedCounts) settle(ctx context.Context, want int, limit, hold time.Duration, progress func(string, ...any)) []time.Time {
	deadline := time.Now().Add(limit)
	for {
		since, shown, changed := c.since(want)
		last, all := latest(since), true
		for _, at := range since {
			all = all && !at.IsZero()
		}
		now := time.Now()
		if now.After(deadline) || ctx.Err() != nil || all && now.Sub(last) >= hold {
			return since
		}
		wake := time.Until(deadline)
		if all {
			wake = min(wake, hold-now.Sub(last))
		} else {
			progress("attachedRoutes: %v, want %d", shown, want)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wake + time.Millisecond):
		}
	}
}

// since returns since when each listener's count is want (zero where it is
// not), the counts that stand now, and a channel that the next version closes.
func (c *attachedCounts) since(want int) (since []time.Time, shown []int, changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since = make([]time.Time, len(c.listeners))
	for _, v := range c.versions {
		for i, count := range v.counts {
			switch {
			case count != want:
				since[i] = time.Time{}
			case since[i].IsZero():
				since[i] = v.at
			}
		}
		shown = v.counts
	}
	return since, shown, c.changed
}

// all returns every version.
func (c *attachedCounts) all() []countVersion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]countVersion(nil), c.versions...)
}

func (c *attachedCounts) stop() {
	for _, watcher := range c.watchers {
		watcher.Stop()
	}
}

func (c *attachedCounts) gates(t *scenario.Trial) {
	for _, watcher := range c.watchers {
		report := watcher.Report()
		for _, gate := range report.Gates(scenario.BlindLimit) {
			gate.Name = fmt.Sprintf("%s-%s", gate.Name, strings.ToLower(report.Kind))
			t.Result.Gates = append(t.Result.Gates, gate)
		}
	}
}
