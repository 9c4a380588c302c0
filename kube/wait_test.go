package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

var gatewayKey = client.ObjectKey{Namespace: "a", Name: "gw"}

func gateway(generation int64) *gatewayv1.Gateway {
	gw := &gatewayv1.Gateway{
		TypeMeta:   metav1.TypeMeta{Kind: "Gateway", APIVersion: gatewayv1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "gw", Generation: generation},
	}
	for _, name := range []gatewayv1.SectionName{"one", "two"} {
		gw.Spec.Listeners = append(gw.Spec.Listeners, gatewayv1.Listener{Name: name})
	}
	return gw
}

func conditions(generation int64) []metav1.Condition {
	return []metav1.Condition{
		{Type: accepted, Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: generation},
		{Type: programmed, Status: metav1.ConditionTrue, Reason: "Programmed", ObservedGeneration: generation},
	}
}

func serving(generation int64, listeners ...gatewayv1.SectionName) *gatewayv1.Gateway {
	gw := gateway(generation)
	gw.Status.Conditions = conditions(generation)
	gw.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "10.0.0.1"}}
	for _, l := range listeners {
		gw.Status.Listeners = append(gw.Status.Listeners, gatewayv1.ListenerStatus{Name: l, Conditions: conditions(generation)})
	}
	return gw
}

func waitAside(t *testing.T, c *Client) chan error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() {
		_, err := WaitGateway(ctx, c, gatewayKey)
		done <- err
	}()
	return done
}

func TestWaitGatewaySeesItBecome(t *testing.T) {
	server, c := startFake(t)
	disturbances := map[string]func(*fakeapi.Server){
		"calm":                func(*fakeapi.Server) {},
		"the watch is cut":    (*fakeapi.Server).CutWatches,
		"the version expires": func(s *fakeapi.Server) { s.CutWatches(); s.Expire() },
		"the server is absent": func(s *fakeapi.Server) {
			s.CutWatches()
			s.Refuse(true)
			time.AfterFunc(100*time.Millisecond, func() { s.Refuse(false) })
		},
	}
	for name, disturb := range disturbances {
		t.Run(name, func(t *testing.T) {
			server.Delete("gateways", "a", "gw")
			done := waitAside(t, c)
			server.Put(t, gateway(1))
			disturb(server)
			server.Put(t, serving(1, "one"))
			server.Put(t, serving(1, "one", "two"))
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitGatewaySaysHowFarItGot(t *testing.T) {
	noAddress := serving(2, "one", "two")
	noAddress.Status.Addresses = nil
	noAddress.Status.Conditions[1] = metav1.Condition{
		Type: programmed, Status: metav1.ConditionFalse, Reason: "AddressNotAssigned", Message: "no addresses yet", ObservedGeneration: 2}
	stale := serving(1, "one", "two")
	stale.Generation = 2
	cases := []struct {
		name      string
		gateway   *gatewayv1.Gateway
		want      []string
		noAddress bool
	}{
		{"absent", nil, []string{"waiting for gateway a/gw: not there after"}, false},
		{"nobody cares", gateway(1), []string{"no condition Accepted", "0 of 2 listeners programmed", "no address"}, false},
		{"one listener", serving(1, "one"), []string{"1 of 2 listeners programmed (two: no condition Accepted"}, false},
		{"no address", noAddress, []string{"Programmed is False (AddressNotAssigned: no addresses yet)", "no address"}, true},
		{"status of an older generation", stale, []string{"Accepted is of generation 1, not 2"}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			server, c := startFake(t)
			if test.gateway != nil {
				server.Put(t, test.gateway)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := WaitGateway(ctx, c, gatewayKey)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
			if errors.Is(err, ErrNoAddress) != test.noAddress || (len(failure.Hints(err)) > 0) != test.noAddress {
				t.Errorf("no address: %v, hints %q", errors.Is(err, ErrNoAddress), failure.Hints(err))
			}
		})
	}
}

func TestWaitGone(t *testing.T) {
	server, c := startFake(t)
	gw := gateway(1)
	gw.Finalizers = []string{"example.com/hold"}
	server.Put(t, gw)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := WaitGone[gatewayv1.Gateway](ctx, c, gatewayKey)
	if err == nil || !strings.Contains(err.Error(), `waiting for the end of gateway a/gw: still there with finalizers ["example.com/hold"]`) {
		t.Errorf("got %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { server.Delete("gateways", "a", "gw") })
	if err := WaitGone[gatewayv1.Gateway](t.Context(), c, gatewayKey); err != nil {
		t.Error(err)
	}
}

func TestFeatures(t *testing.T) {
	gc := &gatewayv1.GatewayClass{}
	gc.Status.SupportedFeatures = []gatewayv1.SupportedFeature{{Name: "HTTPRoute"}, {Name: "Gateway"}}
	if got := Features(gc); len(got) != 2 || got[0] != "HTTPRoute" {
		t.Errorf("got %q", got)
	}
}

func TestAGatewayWithoutAnAddressServesWhereOneIsKnown(t *testing.T) {
	server := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Name: "gateways", Namespaced: true})
	c, err := New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	gw := serving(1, "one", "two")
	gw.Status.Addresses = nil
	gw.Status.Conditions[1].Status, gw.Status.Conditions[1].Reason = metav1.ConditionFalse, string(gatewayv1.GatewayReasonAddressNotAssigned)
	server.Put(t, gw)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := WaitGatewayWithoutAddress(ctx, c, gatewayKey); err != nil {
		t.Error(err)
	}
	gw.Status.Conditions[1].Reason = "Pending"
	server.Put(t, gw)
	brief, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := WaitGatewayWithoutAddress(brief, c, gatewayKey); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Programmed is False (Pending") {
		t.Errorf("not programmed for another reason: %v", err)
	}
}
