package traffic

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// attacked measures a small proxy, once.
func attacked(t *testing.T, proxy func(http.Handler, *http.Transport) http.Handler) *traffic {
	t.Helper()
	backend := scenariotest.Backend(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	handler := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend})
	handler.Transport = transport
	gateway := httptest.NewServer(proxy(handler, transport))
	t.Cleanup(gateway.Close)
	tr := &traffic{
		Place: &attack.Place{
			Trial: scenariotest.Trial(t, Scenario, map[string]any{"rounds": 1, "warmup": "100ms", "duration": "300ms"}),
			CPUs:  2, Gateway: gateway.Listener.Addr().String(), Backends: []string{backend}, BackendNodes: 1,
			Attackers: &scenariotest.Attackers{},
		},
		points: []point{{connections: 1}, {connections: 4}, {connections: 4, rate: 200, payload: 100}},
	}
	for _, w := range tr.turns() {
		one, err := tr.measure(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		tr.seen = append(tr.seen, one)
	}
	tr.report()
	return tr
}

// What is counted here and there agrees: every request that was sent came to
// the backend once, and its answer was whole.
func TestEveryRequestIsCounted(t *testing.T) {
	var passed atomic.Int64
	tr := attacked(t, func(h http.Handler, _ *http.Transport) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed.Add(1)
			h.ServeHTTP(w, r)
		})
	})
	if m := tr.Result.Metrics["requests-sent"]; *m.Value != float64(passed.Load()) || *m.Value == 0 {
		t.Errorf("requests-sent is %v, the proxy counted %d", *m.Value, passed.Load())
	}
	for _, one := range tr.seen {
		if one.Sent != one.Received.Requests || len(one.Result.Errors) > 0 || one.Result.Requests > one.Sent {
			t.Errorf("%s, %s: sent %d, received %d, errors %v", one.point, way(one.direct), one.Sent, one.Received.Requests, one.Result.Errors)
		}
		if one.direct && one.Received.Accepted != int64(one.point.connections) {
			t.Errorf("%s: %d connections came straight to the backend", one.point, one.Received.Accepted)
		}
		if one.point.rate > 0 && one.Result.Requests != 60 { // 200/s for 0.3 s
			t.Errorf("%s: %d requests after the warm-up", one.point, one.Result.Requests)
		}
	}
	scenariotest.CheckFigures(t, tr.Result)
}

func TestWhatIsWrongWithAProxy(t *testing.T) {
	t.Run("connection for each request", func(t *testing.T) {
		tr := attacked(t, func(h http.Handler, transport *http.Transport) http.Handler {
			transport.DisableKeepAlives = true
			return h
		})
		if f := scenariotest.Finding(t, tr.Result, "connection-per-request"); f.Severity != result.Costly {
			t.Errorf("%+v", f)
		}
	})
	t.Run("errors", func(t *testing.T) {
		var n, refused atomic.Int64
		tr := attacked(t, func(h http.Handler, _ *http.Transport) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1)%10 == 0 {
					refused.Add(1)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				h.ServeHTTP(w, r)
			})
		})
		scenariotest.Finding(t, tr.Result, "errors")
		if m := tr.Result.Metrics["errors"]; *m.Value == 0 || *m.Value > float64(refused.Load()) {
			t.Errorf("errors is %v of %d, those of warm-ups among these", *m.Value, refused.Load())
		}
	})
}
