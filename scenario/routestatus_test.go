package scenario

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/history"
)

const ours = "gatemark.test/controller"

// routeWith is generation 2 of a route with one parent status.
func routeWith(controller string, conditions ...metav1.Condition) *anyRoute {
	route := &anyRoute{ObjectMeta: metav1.ObjectMeta{Name: "r", Generation: 2}}
	route.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: gatewayv1.GatewayController(controller), Conditions: conditions}}
	return route
}

func condition(name string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, ObservedGeneration: generation}
}

func TestARoutesStatusIsCurrent(t *testing.T) {
	accepted, resolved := condition("Accepted", "True", 2), condition("ResolvedRefs", "True", 2)
	both := routeWith("someone/else", accepted, resolved)
	both.Status.Parents = append(both.Status.Parents, routeWith(ours, accepted, resolved).Status.Parents...)
	for name, c := range map[string]struct {
		route *anyRoute
		want  bool
	}{
		"accepted and resolved":         {routeWith(ours, accepted, resolved), true},
		"after another controller's":    {both, true},
		"another controller's alone":    {routeWith("someone/else", accepted, resolved), false},
		"no status":                     {&anyRoute{}, false},
		"accepted only":                 {routeWith(ours, accepted), false},
		"references not resolved":       {routeWith(ours, accepted, condition("ResolvedRefs", "False", 2)), false},
		"of the generation before":      {routeWith(ours, condition("Accepted", "True", 1), resolved), false},
		"conditions without generation": {routeWith(ours, condition("Accepted", "True", 0), condition("ResolvedRefs", "True", 0)), false},
	} {
		s := &RouteStatus{controller: ours, parents: 1}
		if got, lack := s.judge(c.route); got != c.want || (lack == "") != got {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAcceptedWaitsForTheStatusOrTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &RouteStatus{controller: ours, parents: 1, Current: map[string]time.Time{}, since: map[RouteVersion]time.Time{}, Lacks: map[string]string{}, changed: make(chan struct{})}
		began := time.Now()
		show := func(after time.Duration, route *anyRoute) {
			time.AfterFunc(after, func() {
				s.record(history.Event[anyRoute]{Type: watch.Modified, Object: route, At: time.Now()})
			})
		}
		good := routeWith(ours, condition("Accepted", "True", 2), condition("ResolvedRefs", "True", 2))
		show(time.Second, routeWith(ours))
		show(2*time.Second, good)
		show(3*time.Second, good) // written again: it was current before
		at, ok := s.Accepted(t.Context(), VersionOf(good), began.Add(time.Minute))
		if !ok || at.Sub(began) != 2*time.Second {
			t.Errorf("current after %s, %v", at.Sub(began), ok)
		}
		time.Sleep(5 * time.Second)
		if at := s.Instants()["r"]; at.Sub(began) != 2*time.Second {
			t.Errorf("current after %s", at.Sub(began))
		}
		began = time.Now()
		if _, ok := s.Accepted(t.Context(), RouteVersion{good.UID, 3}, began.Add(4*time.Second)); ok || time.Since(began) != 4*time.Second {
			t.Errorf("a generation that is not there: %v after %s", ok, time.Since(began))
		}
	})
}

// TestARouteIsCurrentWithAllItsParents: that of a set alone is not enough.
func TestARouteIsCurrentWithAllItsParents(t *testing.T) {
	accepted, resolved := condition("Accepted", "True", 2), condition("ResolvedRefs", "True", 2)
	one, both, bad := routeWith(ours, accepted, resolved), routeWith(ours, accepted, resolved), routeWith(ours, accepted, resolved)
	both.Status.Parents = append(both.Status.Parents, one.Status.Parents...)
	bad.Status.Parents = append(bad.Status.Parents, routeWith(ours, condition("Accepted", "False", 2), resolved).Status.Parents...)
	s := &RouteStatus{controller: ours, parents: 2}
	current := func(r *anyRoute) bool { is, _ := s.judge(r); return is }
	if current(one) || !current(both) || current(bad) {
		t.Errorf("one parent %v, both %v, one refused %v", current(one), current(both), current(bad))
	}
}
