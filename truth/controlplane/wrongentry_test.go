package controlplane

import (
	"fmt"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

// entriesWith is what the status of a route becomes under faults, whose second
// parent is another controller's and has said so.
func entriesWith(t *testing.T, x *wrong, n int) *gatewayv1.HTTPRoute {
	t.Helper()
	w := worldOf(t, httpRouteText("r", `{parentRefs: [{name: g}, {name: other}], rules: [{backendRefs: [{name: s, port: 80}]}]}`))
	w.routes[0].SetGeneration(int64(n))
	w = translate(w.Objects, newPairs())
	x.statuses(w)
	for _, s := range w.conclude() {
		object, ok := s.object.(*gatewayv1.HTTPRoute)
		if !ok {
			continue
		}
		object = object.DeepCopy()
		object.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: "other", ParentRef: gatewayv1.ParentReference{Name: "other"}}}
		s.into(object)
		before := fmt.Sprint(object.Status)
		if s.into(object); fmt.Sprint(object.Status) != before {
			t.Errorf("said again it changes: %+v", object.Status)
		}
		return object
	}
	t.Fatal("nothing is said of the route")
	return nil
}

func TestEntries(t *testing.T) {
	for _, c := range []struct {
		f    fault.Faults
		want string
	}{
		{fault.Faults{}, "other:other truth:g"},
		{fault.Faults{DuplicateEntries: 2}, "other:other truth:g truth:g truth:g"},
		{fault.Faults{ForeignEntries: 1}, "other:other truth:g truth:other"},
		{fault.Faults{ForeignEntries: 2}, "other:other truth:g truth:other truth:no-such-gateway-1"},
		{fault.Faults{RemovesOthers: true}, "truth:g"},
	} {
		var got []string
		for _, p := range entriesWith(t, wrongWith(c.f), 1).Status.Parents {
			got = append(got, strings.TrimPrefix(string(p.ControllerName), "gatemark.dev/")+":"+string(p.ParentRef.Name))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: entries %s, want %s", c.f, text, c.want)
		}
	}
}

func TestEachThirdStatusIsStale(t *testing.T) {
	x := wrongWith(fault.Faults{StaleGeneration: 3})
	for generation := 1; generation <= 6; generation++ {
		for range 2 { // said again it stays as it is
			parents := entriesWith(t, x, generation).Status.Parents
			for _, c := range parents[1].Conditions {
				want := int64(generation)
				if generation%3 == 0 {
					want--
				}
				if c.ObservedGeneration != want {
					t.Errorf("generation %d: %s is about %d, want %d", generation, c.Type, c.ObservedGeneration, want)
				}
			}
		}
	}
}
