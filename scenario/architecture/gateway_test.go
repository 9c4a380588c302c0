package architecture

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// redirects answers as the route of a Gateway does, for the hosts that it has.
func redirects(mark string, hosts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range hosts {
			if r.Host == h {
				http.Redirect(w, r, "http://"+leads(mark)+"/", http.StatusFound)
				return
			}
		}
		http.NotFound(w, r)
	}
}

func TestAnAnswerTellsWhoseRouteItWas(t *testing.T) {
	own := scenariotest.Replica(t, "n/own", redirects("first", sharedHost, ownHost("first")))
	other := scenariotest.Replica(t, "n/other", redirects("second", sharedHost, ownHost("second")))
	cut := scenariotest.Replica(t, "n/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	elsewhere := scenariotest.Replica(t, "n/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example/", http.StatusFound)
	})
	d := &dissection{Trial: scenariotest.Trial(t, Scenario, map[string]any{"requests": 10})}
	places := []string{own.Address().String(), other.Address().String(), cut.Address().String(), elsewhere.Address().String(), own.Address().String()}
	q, err := d.put(t.Context(), &examined{mark: "first"}, places, sharedHost)
	if want := (question{host: sharedHost, own: 4, other: 2, failed: 2, neither: 2}); err != nil || q != want {
		t.Errorf("%+v, %v; want %+v", q, err, want)
	}
	if got := request(t.Context(), own.Address().String(), "unknown.test"); got.String() != "status 404" {
		t.Errorf("an unknown host: %s", got)
	}
	if got := request(t.Context(), cut.Address().String(), sharedHost); !strings.HasPrefix(got.String(), "none: ") {
		t.Errorf("a cut answer: %s", got)
	}
}

func TestQuestionsEndWithTheirContext(t *testing.T) {
	own := scenariotest.Replica(t, "n/own", redirects("first", sharedHost))
	d := &dissection{Trial: scenariotest.Trial(t, Scenario, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.put(ctx, &examined{mark: "first"}, []string{own.Address().String()}, sharedHost); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTheGatewayOfTheArchitecture(t *testing.T) {
	d := &dissection{Trial: scenariotest.Trial(t, Scenario, nil)}
	for port, want := range map[int]int{0: 1, 18080: 2} {
		objects, err := d.Render("architecture.yaml", architectureManifest, map[string]any{
			"Gateway": scenario.GatewayName, "Namespace": "gm-1", "GatewayClass": "class", "Port": port, "Shared": sharedHost, "Own": ownHost("first"), "Leads": leads("first"),
		})
		if err != nil {
			t.Fatal(err)
		}
		gateway, route := scenariotest.Typed[gatewayv1.Gateway](t, objects, "Gateway"), scenariotest.Typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute")
		if len(gateway.Spec.Listeners) != want || gateway.Spec.Listeners[0].Port != scenario.ListenerPort || int(gateway.Spec.Listeners[want-1].Port) != max(port, scenario.ListenerPort) {
			t.Errorf("listeners %+v", gateway.Spec.Listeners)
		}
		if to := route.Spec.Rules[0].Filters[0].RequestRedirect; string(*to.Hostname) != "first-answers.gatemark.test" || len(route.Spec.Hostnames) != 2 {
			t.Errorf("route %+v", route.Spec)
		}
	}
}

func TestATimeoutIsToldFromAFailure(t *testing.T) {
	late := &kube.WaitError{What: "gateway", Progress: "no address", After: time.Second, Err: context.DeadlineExceeded}
	if words, is := timedOut(late); !is || words != "no address" {
		t.Errorf("%q, %v", words, is)
	}
	for _, err := range []error{nil, errors.New("refused"), &kube.WaitError{Err: context.Canceled}} {
		if _, is := timedOut(err); is {
			t.Errorf("%v is a timeout", err)
		}
	}
}
