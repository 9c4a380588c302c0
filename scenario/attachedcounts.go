package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/history"
)

// attachedCounts records every attachedRoutes count that the Gateway's status
// ever showed, for each listener.
type attachedCounts struct {
	watcher   *history.Watcher
	listeners []listener

	mu       sync.Mutex
	versions []countVersion
	changed  chan struct{}
}

// A countVersion is one version of the Gateway's status. A listener that is
// not in the status has count -1.
type countVersion struct {
	at     time.Time
	counts []int
}

func watchCounts(ctx context.Context, t *Trial, listeners []listener) (*attachedCounts, error) {
	c := &attachedCounts{listeners: listeners, changed: make(chan struct{})}
	var err error
	c.watcher, err = history.Start(ctx, t.Kube, gatewayv1.SchemeGroupVersion.WithKind("Gateway"),
		history.Options{Namespace: t.Namespace, FieldSelector: "metadata.name=" + GatewayName}, c.record)
	return c, err
}

func (c *attachedCounts) record(event history.Event[gatewayv1.Gateway]) {
	if event.Type == watch.Deleted {
		return
	}
	version := countVersion{event.At, make([]int, len(c.listeners))}
	for i, l := range c.listeners {
		version.counts[i] = -1
		for _, status := range event.Object.Status.Listeners {
			if string(status.Name) == l.Name {
				version.counts[i] = int(status.AttachedRoutes)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
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

func (c *attachedCounts) stop() { c.watcher.Stop() }

func (c *attachedCounts) gates(t *Trial) {
	for _, gate := range c.watcher.Report().Gates(blindLimit) {
		gate.Name = fmt.Sprintf("%s-gateway", gate.Name)
		t.Result.Gates = append(t.Result.Gates, gate)
	}
}
