package inprocess

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/fault"
)

// takesWrongStatuses: the API server stores what faults make of statuses. What
// that is, is tested where it is made.
func takesWrongStatuses(t *testing.T, c *kube.Client, truth *Truth, faults *fault.Switch) {
	t.Helper()
	faults.Set(fault.Faults{DuplicateEntries: 2, ForeignEntries: 1, StaleGeneration: 1, Overcount: 3, CountPerWrite: true, NoopWrites: 1})
	apply(t, c, routeManifest, 1)
	route, err := kube.Wait(limited(t), c, "route r", client.ObjectKey{Namespace: "a", Name: "r"}, func(r *gatewayv1.HTTPRoute) (bool, string) {
		return len(r.Status.Parents) == 4, fmt.Sprintf("%d parents", len(r.Status.Parents))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := route.Status.Parents[0].Conditions[0].ObservedGeneration; got != 0 {
		t.Errorf("the status is about generation %d", got)
	}
	attached(t, c, 4)
	faults.Set(fault.Faults{Ceiling: 2, CeilingSaid: true})
	apply(t, c, strings.ReplaceAll(routeManifest, "name: r,", "name: q,"), 1)
	if _, err := kube.Wait(limited(t), c, "route q", client.ObjectKey{Namespace: "a", Name: "q"}, func(r *gatewayv1.HTTPRoute) (bool, string) {
		if len(r.Status.Parents) == 0 {
			return false, "no parents"
		}
		reason := r.Status.Parents[0].Conditions[0].Reason
		return reason == "TooManyRoutes", reason
	}); err != nil {
		t.Fatal(err)
	}
	attached(t, c, 1)
	for _, r := range truth.Replicas("a/g") {
		if _, served := r.Force().Routes["a/q"]; served {
			t.Error("beyond the ceiling a route is served")
		}
	}
}
