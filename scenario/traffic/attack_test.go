package traffic

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// An inProcess attacks from here.
type inProcess struct{ attack *load.Attack }

func (a *inProcess) Prepare(ctx context.Context, o load.Options) (err error) {
	a.attack, err = load.Prepare(ctx, o)
	return err
}

func (a *inProcess) Start(context.Context) (time.Time, error) {
	at := time.Now().Add(10 * time.Millisecond)
	a.attack.Start(at)
	return at, nil
}

func (a *inProcess) Collect(ctx context.Context) (*attacker.Outcome, error) {
	r, err := a.attack.Wait(ctx)
	return &attacker.Outcome{Merged: load.Merged{Result: r}}, err
}

func (a *inProcess) Reset(context.Context) error  { return nil }
func (a *inProcess) Remove(context.Context) error { return nil }

// backend is a server on an address of its own: its admin port is a known one.
func backend(t *testing.T) string {
	t.Helper()
	address := fmt.Sprintf("127.77.%d.%d", os.Getpid()>>8&255, 1+os.Getpid()%254)
	server, err := echo.Listen(echo.Options{Listen: address + ":8080", Admin: address + ":" + adminPort, Pod: "echo-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return address + ":8080"
}

// attacked measures a small proxy, once.
func attacked(t *testing.T, proxy func(http.Handler, *http.Transport) http.Handler) *traffic {
	t.Helper()
	backend := backend(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	handler := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend})
	handler.Transport = transport
	gateway := httptest.NewServer(proxy(handler, transport))
	t.Cleanup(gateway.Close)
	tr := &traffic{
		Trial:     scenariotest.Trial(t, Scenario, map[string]any{"rounds": 1, "warmup": "100ms", "duration": "300ms"}),
		points:    []point{{connections: 1}, {connections: 4}, {connections: 4, rate: 200, payload: 100}},
		cpus:      2,
		scale:     1,
		gateway:   gateway.Listener.Addr().String(),
		backends:  []string{backend},
		attackers: &inProcess{}, backendNodes: 1,
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
		if one.sent != one.received.Requests || len(one.result.Errors) > 0 || one.result.Requests > one.sent {
			t.Errorf("%s, %s: sent %d, received %d, errors %v", one.point, way(one.direct), one.sent, one.received.Requests, one.result.Errors)
		}
		if one.direct && one.received.Accepted != int64(one.point.connections) {
			t.Errorf("%s: %d connections came straight to the backend", one.point, one.received.Accepted)
		}
		if one.point.rate > 0 && one.result.Requests != 60 { // 200/s for 0.3 s
			t.Errorf("%s: %d requests after the warm-up", one.point, one.result.Requests)
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
