package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
)

// BlindLimit is how long a watch may be without a connection: versions from
// such a gap are stamped late.
const BlindLimit = 50 * time.Millisecond

// A RouteStatus knows since when the status of each of the trial's routes is
// current: accepted by an implementation for each of its parents, with its
// references resolved, in the generation that was written.
type RouteStatus struct {
	watcher    *history.Watcher
	controller gatewayv1.GatewayController
	// parents is how many of its parents have a status by the controller.
	parents int

	mu sync.Mutex
	// Current is of each route by its name, when it was so first.
	Current map[string]time.Time
	// since is of each version of each route.
	since map[RouteVersion]time.Time
	// Lacks is what the last status of each route, by its name, lacked.
	Lacks    map[string]string
	versions int
	changed  chan struct{} // closed and replaced at each change of since
}

// A RouteVersion is a generation of a route. A route that was deleted and made
// again is another one, with the same generations.
type RouteVersion struct {
	uid        types.UID
	generation int64
}

// VersionOf is the version that an answer of the API server shows.
func VersionOf(o metav1.Object) RouteVersion { return RouteVersion{o.GetUID(), o.GetGeneration()} }

// An anyRoute is what is read of a route of any kind.
type anyRoute struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            gatewayv1.RouteStatus `json:"status"`
}

// WatchRouteStatus watches what a controller says about routes of a kind that
// have so many parents of its own, in the trial's namespace.
func WatchRouteStatus(ctx context.Context, t *Trial, kind, controller string, parents int) (*RouteStatus, error) {
	return watchRouteStatus(ctx, t, kind, controller, parents, history.Options{Namespace: t.Namespace})
}

// WatchRouteStatusEverywhere is WatchRouteStatus for all namespaces of the
// trial, whose routes must have different names.
func WatchRouteStatusEverywhere(ctx context.Context, t *Trial, kind, controller string, parents int) (*RouteStatus, error) {
	return watchRouteStatus(ctx, t, kind, controller, parents, history.Options{LabelSelector: kube.OwnedBy(t.RunID, t.Result.ID).String()})
}

func watchRouteStatus(ctx context.Context, t *Trial, kind, controller string, parents int, of history.Options) (*RouteStatus, error) {
	s := &RouteStatus{
		controller: gatewayv1.GatewayController(controller), parents: parents,
		Current: map[string]time.Time{}, since: map[RouteVersion]time.Time{}, Lacks: map[string]string{}, changed: make(chan struct{}),
	}
	var err error
	s.watcher, err = history.Start(ctx, t.Kube, schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: t.RouteVersion(), Kind: kind}, of, s.record)
	return s, err
}

func (s *RouteStatus) record(event history.Event[anyRoute]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if event.Type == watch.Deleted {
		return
	}
	s.versions++
	version := VersionOf(event.Object)
	if _, known := s.since[version]; known {
		return
	}
	current, lack := s.judge(event.Object)
	if !current {
		s.Lacks[event.Object.Name] = lack
		return
	}
	s.since[version] = event.At
	if _, known := s.Current[event.Object.Name]; !known {
		s.Current[event.Object.Name] = event.At
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// judge tells whether a route's status is current, and otherwise what it lacks.
func (s *RouteStatus) judge(route *anyRoute) (current bool, lack string) {
	n := 0
	for _, parent := range route.Status.Parents {
		if parent.ControllerName != s.controller {
			continue
		}
		ok, lack := kube.Current(parent.Conditions, route.Generation,
			string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs))
		if !ok {
			return false, lack
		}
		n++
	}
	if n < s.parents {
		return false, fmt.Sprintf("%d of %d entries of %s", n, s.parents, s.controller)
	}
	return true, ""
}

// Lack is what the status of a route lacked last.
func (s *RouteStatus) Lack(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Lacks[name]
}

// Accepted waits until the status of a version is current, until the deadline.
func (s *RouteStatus) Accepted(ctx context.Context, version RouteVersion, deadline time.Time) (at time.Time, ok bool) {
	s.await(ctx, deadline, func() bool { at, ok = s.since[version]; return ok })
	return at, ok
}

// AllCurrent waits until the statuses of so many routes are current, until the
// deadline.
func (s *RouteStatus) AllCurrent(ctx context.Context, routes int, deadline time.Time) {
	s.await(ctx, deadline, func() bool { return len(s.Current) >= routes })
}

// await waits for what changes with a status.
func (s *RouteStatus) await(ctx context.Context, deadline time.Time, done func() bool) {
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	for {
		s.mu.Lock()
		is, changed := done(), s.changed
		s.mu.Unlock()
		if is {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timeout.C:
			return
		case <-changed:
		}
	}
}

// Instants returns since when each route's status is current.
func (s *RouteStatus) Instants() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]time.Time, len(s.Current))
	for name, at := range s.Current {
		all[name] = at
	}
	return all
}

// Versions is how many versions of routes came, deletions left out.
func (s *RouteStatus) Versions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions
}

// Stop ends the watch.
func (s *RouteStatus) Stop() { s.watcher.Stop() }

// Gates adds to the trial what it must meet so that no version was missed.
func (s *RouteStatus) Gates(t *Trial) {
	t.Result.Gates = append(t.Result.Gates, s.watcher.Report().Gates(BlindLimit)...)
}
