package scenario

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
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
	own := replica(t, "n/own", redirects("first", sharedHost, ownHost("first")))
	other := replica(t, "n/other", redirects("second", sharedHost, ownHost("second")))
	cut := replica(t, "n/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	elsewhere := replica(t, "n/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example/", http.StatusFound)
	})
	d := &dissection{Trial: newTrial(t, architecture, map[string]any{"requests": 10})}
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
	own := replica(t, "n/own", redirects("first", sharedHost))
	d := &dissection{Trial: newTrial(t, architecture, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.put(ctx, &examined{mark: "first"}, []string{own.Address().String()}, sharedHost); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTheGatewayOfTheArchitecture(t *testing.T) {
	d := &dissection{Trial: newTrial(t, architecture, nil)}
	for port, want := range map[int]int{0: 1, 18080: 2} {
		objects, err := d.render("architecture.yaml", architectureManifest, map[string]any{
			"Gateway": GatewayName, "Namespace": "gm-1", "GatewayClass": "class", "Port": port, "Shared": sharedHost, "Own": ownHost("first"), "Leads": leads("first"),
		})
		if err != nil {
			t.Fatal(err)
		}
		gateway, route := typed[gatewayv1.Gateway](t, objects, "Gateway"), typed[gatewayv1.HTTPRoute](t, objects, "HTTPRoute")
		if len(gateway.Spec.Listeners) != want || gateway.Spec.Listeners[0].Port != listenerPort || int(gateway.Spec.Listeners[want-1].Port) != max(port, listenerPort) {
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
