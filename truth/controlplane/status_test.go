package controlplane

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestAGatewayIsProgrammedWhenItsDataPlaneIs(t *testing.T) {
	for _, c := range []struct {
		placed Placed
		want   string
	}{
		{Placed{}, "Programmed!AddressNotAssigned"},
		{Placed{Addresses: []string{"10.0.0.9"}}, "Programmed!Pending"},
		{Placed{Addresses: []string{"10.0.0.9"}, Ready: true}, "Programmed=Programmed"},
	} {
		w := worldOf(t)
		w.gateways[client.ObjectKey{Namespace: "a", Name: "g"}].placed = c.placed
		if got := reasons(said[gatewayv1.Gateway](t, w, "g").Status.Conditions); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.placed, got, c.want)
		}
	}
}

func TestClasses(t *testing.T) {
	w := worldOf(t)
	class := said[gatewayv1.GatewayClass](t, w, "truth").Status
	if got, want := reasons(class.Conditions), "Accepted=Accepted SupportedVersion=SupportedVersion"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(class.SupportedFeatures) != len(Features) {
		t.Errorf("%d features", len(class.SupportedFeatures))
	}
	o := objectsOf(t, base)
	o.Definitions.Items[0].Annotations = nil
	o.Classes.Items[0].Spec.ControllerName = Name
	class = said[gatewayv1.GatewayClass](t, translate(o, newPairs()), "truth").Status
	if got := reasons(class.Conditions); !strings.Contains(got, "SupportedVersion!UnsupportedVersion") {
		t.Errorf("got %s", got)
	}
	o.Classes.Items[0].Spec.ControllerName = "someone.else/controller"
	if w := translate(o, newPairs()); len(w.gateways) != 0 || len(w.conclude()) != 0 {
		t.Errorf("of another controller's class: %d gateways, %d statuses", len(w.gateways), len(w.conclude()))
	}
}

func TestMerge(t *testing.T) {
	old := metav1.NewTime(time.Unix(1, 0))
	has := []metav1.Condition{{Type: "Other", Status: "True"}, {Type: "Accepted", Status: "True", Reason: "old", LastTransitionTime: old}, {Type: "Gone", Status: "True"}}
	got := merge(has, []metav1.Condition{verdict{ok: true, reason: "new"}.condition("Accepted", 4)}, "Gone")
	c := meta.FindStatusCondition(got, "Accepted")
	if len(got) != 2 || got[0].Type != "Other" || c.Reason != "new" || c.ObservedGeneration != 4 || c.LastTransitionTime != old {
		t.Errorf("got %+v", got)
	}
	if has[1].Reason != "old" || len(has) != 3 {
		t.Errorf("what it had was changed: %+v", has)
	}
}
