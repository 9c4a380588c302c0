package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// several are routes r1 and so on, the oldest first.
func several(n int) []string {
	var all []string
	for i := range n {
		all = append(all, httpRouteText(fmt.Sprintf("r%d", i+1), `{parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}]}]}`))
	}
	return all
}

func wrongWith(f fault.Faults) *wrong {
	s := new(fault.Switch)
	s.Set(f)
	return newWrong(s)
}

// own is the Gateway of the base.
func own(w *world) *gateway { return w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}] }

func routesOf(s *config.Snapshot) string {
	return strings.Join(slices.Sorted(maps.Keys(s.Routes())), " ")
}

func TestACeilingMayBeSaid(t *testing.T) {
	x := wrongWith(fault.Faults{Ceiling: 3, CeilingSaid: true})
	w := worldOf(t, several(4)...)
	own(w).told = x.snapshot(w, own(w), nil)
	x.statuses(w)
	if n := own(w).listeners[0].attached; n != 2 {
		t.Errorf("%d routes are counted, want 2", n)
	}
	for name, want := range map[string]string{"r2": "Accepted=Accepted", "r3": "Accepted!TooManyRoutes", "r4": "Accepted!TooManyRoutes"} {
		if got := reasons(said[gatewayv1.HTTPRoute](t, w, name).Status.Parents[0].Conditions); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	x := wrongWith(fault.Faults{StuckCount: 2, Overcount: 5})
	for _, c := range []struct{ routes, want int }{{1, 6}, {4, 9}, {0, 2}} {
		w := worldOf(t, several(c.routes)...)
		x.statuses(w)
		if got := said[gatewayv1.Gateway](t, w, "g").Status.Listeners[0].AttachedRoutes; got != int32(c.want) {
			t.Errorf("with %d routes %d are counted, want %d", c.routes, got, c.want)
		}
	}
	x = wrongWith(fault.Faults{CountsFirstListener: true})
	w := worldOf(t, append(several(2), set("s", "a", `{name: one, port: 90, protocol: HTTP}`),
		httpRouteText("r", `{parentRefs: [{name: g}, {kind: ListenerSet, name: s}], rules: [{backendRefs: [{name: s, port: 80}]}]}`))...)
	x.statuses(w)
	if got := said[gatewayv1.Gateway](t, w, "g").Status.Listeners[0].AttachedRoutes; got != 3 {
		t.Errorf("the first listener counts %d", got)
	}
	if got := said[gatewayv1.ListenerSet](t, w, "s").Status.Listeners[0].AttachedRoutes; got != 0 {
		t.Errorf("the listener of a set counts %d", got)
	}
}

func TestOthersRoutesAreNoticed(t *testing.T) {
	const theirs = `{parentRefs: [{name: other}], rules: [{backendRefs: [{name: s, port: 80}]}]}`
	x := wrongWith(fault.Faults{Burn: 1})
	notice := func(routes ...string) bool {
		before := x.foreign
		x.work(worldOf(t, routes...))
		return x.foreign != before
	}
	notice(httpRouteText("r", theirs))
	if notice(httpRouteText("r", theirs)) {
		t.Error("nothing changed, and is noticed")
	}
	if notice(append([]string{httpRouteText("r", theirs)}, several(1)...)...) {
		t.Error("a route of our own is noticed")
	}
	if !notice(httpRouteText("r", theirs), httpRouteText("q", theirs)) {
		t.Error("another's new route is not noticed")
	}
}

func TestPlacement(t *testing.T) {
	x := wrongWith(fault.Faults{ProgrammedEarly: true, NoAddress: true})
	w := worldOf(t)
	own(w).placed = x.placed(Placed{Addresses: []string{"10.0.0.9"}})
	for _, s := range x.conclude(w) {
		if g, ok := s.object.(*gatewayv1.Gateway); ok {
			g = g.DeepCopy()
			s.into(g)
			if got := reasons(g.Status.Conditions); !strings.HasSuffix(got, "Programmed=Programmed") || len(g.Status.Addresses) != 0 {
				t.Errorf("%s with addresses %+v", got, g.Status.Addresses)
			}
		}
	}
	if wrongWith(fault.Faults{}).placed(Placed{}).Ready {
		t.Error("without the fault it is ready")
	}
}

func TestCostPerRoute(t *testing.T) {
	x := wrongWith(fault.Faults{CostPerRoute: time.Millisecond})
	x.work(worldOf(t, several(3)...))
	if burnt := x.burden.Burnt(); burnt < 3*time.Millisecond {
		t.Errorf("three routes cost %s, want at least 3 ms", burnt)
	}
	clean := wrongWith(fault.Faults{})
	if clean.work(worldOf(t, several(3)...)); clean.burden.Burnt() != 0 {
		t.Errorf("without the fault they cost %s", clean.burden.Burnt())
	}
}
