package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
)

// blindLimit is how long a watch may be without a connection: versions from
// such a gap are stamped late.
const blindLimit = 50 * time.Millisecond

// A routeStatus knows since when the status of each of the trial's routes is
// current: accepted by an implementation for each of its parents, with its
// references resolved, in the generation that was written.
type routeStatus struct {
	watcher    *history.Watcher
	controller gatewayv1.GatewayController
	// parents is how many of its parents have a status by the controller.
	parents int

	mu sync.Mutex
	// current is of each route by its name, when it was so first.
	current map[string]time.Time
	// since is of each version of each route.
	since map[routeVersion]time.Time
	// lacks is what the last status of each route, by its name, lacked.
	lacks    map[string]string
	versions int
	changed  chan struct{} // closed and replaced at each change of since
}

// A routeVersion is a generation of a route. A route that was deleted and made
// again is another one, with the same generations.
type routeVersion struct {
	uid        types.UID
	generation int64
}

func versionOf(o client.Object) routeVersion { return routeVersion{o.GetUID(), o.GetGeneration()} }

// watchRouteStatus watches what a controller says about routes that have so
// many parents of its own.
func watchRouteStatus(ctx context.Context, t *Trial, controller string, parents int) (*routeStatus, error) {
	s := &routeStatus{
		controller: gatewayv1.GatewayController(controller), parents: parents,
		current: map[string]time.Time{}, since: map[routeVersion]time.Time{}, lacks: map[string]string{}, changed: make(chan struct{}),
	}
	var err error
	s.watcher, err = history.Start(ctx, t.Kube, gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute"), history.Options{Namespace: t.Namespace}, s.record)
	return s, err
}

func (s *routeStatus) record(event history.Event[gatewayv1.HTTPRoute]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if event.Type == watch.Deleted {
		return
	}
	s.versions++
	version := versionOf(event.Object)
	if _, known := s.since[version]; known {
		return
	}
	current, lack := s.judge(event.Object)
	if !current {
		s.lacks[event.Object.Name] = lack
		return
	}
	s.since[version] = event.At
	if _, known := s.current[event.Object.Name]; !known {
		s.current[event.Object.Name] = event.At
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// judge tells whether a route's status is current, and otherwise what it lacks.
func (s *routeStatus) judge(route *gatewayv1.HTTPRoute) (current bool, lack string) {
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

// lack is what the status of a route lacked last.
func (s *routeStatus) lack(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks[name]
}

// accepted waits until the status of a version is current, until the deadline.
func (s *routeStatus) accepted(ctx context.Context, version routeVersion, deadline time.Time) (time.Time, bool) {
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	for {
		s.mu.Lock()
		at, ok := s.since[version]
		changed := s.changed
		s.mu.Unlock()
		if ok {
			return at, true
		}
		select {
		case <-ctx.Done():
			return time.Time{}, false
		case <-timeout.C:
			return time.Time{}, false
		case <-changed:
		}
	}
}

// instants returns since when each route's status is current.
func (s *routeStatus) instants() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]time.Time, len(s.current))
	for name, at := range s.current {
		all[name] = at
	}
	return all
}

func (s *routeStatus) stop() { s.watcher.Stop() }

// gates adds to the trial what it must meet so that no version was missed.
func (s *routeStatus) gates(t *Trial) {
	t.Result.Gates = append(t.Result.Gates, s.watcher.Report().Gates(blindLimit)...)
}
