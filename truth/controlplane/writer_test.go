package controlplane

import (
	"context"
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/fault"
)

// A writing is a writer with an API server in memory that counts its writes.
type writing struct {
	*writer
	t      *testing.T
	wrong  fault.Switch
	writes int
}

func newWriting(t *testing.T, objects ...client.Object) *writing {
	t.Helper()
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := &writing{t: t}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			w.writes++
			return c.SubResource(name).Update(ctx, o, opts...)
		}}).Build()
	w.writer = newWriter(server, &w.wrong, fault.Faults.BeforeRouteStatus, slog.New(slog.NewTextHandler(t.Output(), nil)))
	return w
}

// get reads the object as it is now.
func (w *writing) get(name string) *gatewayv1.HTTPRoute {
	w.t.Helper()
	r := new(gatewayv1.HTTPRoute)
	if err := w.writer.writes.Get(w.t.Context(), client.ObjectKey{Namespace: "a", Name: name}, r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// expect does a round and compares the number of writes so far.
func (w *writing) expect(cache client.Reader, writes int, what string, wanted ...status) {
	w.t.Helper()
	w.round(w.t.Context(), cache, wanted)
	if w.writes != writes {
		w.t.Errorf("%s: %d writes, want %d", what, w.writes, writes)
	}
}

func aRoute() *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "a", Generation: 1, UID: "u"}}
}

func accepted(r *gatewayv1.HTTPRoute, v verdict) status {
	return routeStatus(r, []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "g"}, ControllerName: Name,
		Conditions: []metav1.Condition{v.condition("Accepted", r.Generation)}}})
}

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	w := newWriting(t, aRoute())
	server := w.writer.writes
	w.expect(server, 1, "a new status", accepted(w.get("r"), yes("Accepted")))
	if got := reasons(w.get("r").Status.Parents[0].Conditions); got != "Accepted=Accepted" {
		t.Errorf("it says %s", got)
	}
	w.expect(server, 1, "the same again", accepted(w.get("r"), yes("Accepted")))
	w.expect(server, 2, "another one", accepted(w.get("r"), no(gatewayv1.RouteReasonNoMatchingParent, "why")))
	changed := w.get("r")
	changed.Status.Parents[0].Conditions[0].Reason = "Meddled"
	if err := server.Status().Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	w.expect(server, 4, "somebody else wrote over it", accepted(w.get("r"), no(gatewayv1.RouteReasonNoMatchingParent, "why")))
}

// A cache shows our own write only after a while.
type stale struct {
	client.Reader
	route *gatewayv1.HTTPRoute
}

func (s stale) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.route.DeepCopyInto(o.(*gatewayv1.HTTPRoute))
	return nil
}

func TestAStaleCacheMakesNoWrites(t *testing.T) {
	w := newWriting(t, aRoute())
	old := stale{route: w.get("r")}
	w.expect(old, 1, "the first", accepted(w.get("r"), yes("Accepted")))
	w.expect(old, 1, "before the cache shows it", accepted(w.get("r"), no(gatewayv1.RouteReasonNoMatchingParent, "why")))
	w.expect(w.writer.writes, 2, "when it does", accepted(w.get("r"), no(gatewayv1.RouteReasonNoMatchingParent, "why")))
	w.expect(old, 3, "an older version again", accepted(w.get("r"), yes("Accepted")))
	if got := reasons(w.get("r").Status.Parents[0].Conditions); got != "Accepted!NoMatchingParent" {
		t.Errorf("a write on an old version went through: %s", got)
	}
}

func TestAnotherGenerationIsNotWritten(t *testing.T) {
	w := newWriting(t, aRoute())
	older := w.get("r")
	older.Generation = 0
	w.expect(w.writer.writes, 0, "a status of an older generation", accepted(older, yes("Accepted")))
	gone := aRoute()
	gone.Name = "gone"
	w.expect(w.writer.writes, 0, "a status of an object that is gone", accepted(gone, yes("Accepted")))
}
