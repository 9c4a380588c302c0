package traffic

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// connectionMeter says that a data plane takes 1000 B for each connection that
// is open at one of a window's edges: the last of them are closed at the other.
type connectionMeter struct {
	open *atomic.Int64
	most int64
}

func (m *connectionMeter) Edge(context.Context) { m.most = max(m.most, m.open.Load()) }

func (m *connectionMeter) Window(from, to time.Time) *usage.Window {
	peak := 50e6 + 1000*float64(m.most)
	m.most = 0
	return &usage.Window{From: from, To: to, Uses: map[string]usage.Use{scenario.DataPlaneRole: {Peak: peak}}}
}

// TestIdleConnections: all of them are open at the same time, and what each takes
// is what they make the difference by.
func TestIdleConnections(t *testing.T) {
	backend := scenariotest.Backend(t)
	var open atomic.Int64
	gateway := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend}))
	gateway.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	gateway.Start()
	t.Cleanup(gateway.Close)
	trial := scenariotest.Trial(t, Scenario, map[string]any{"idle": 200, "warmup": "300ms", "duration": "700ms"})
	trial.Meter = &connectionMeter{open: &open}
	tr := &traffic{Place: &attack.Place{Trial: trial, CPUs: 2, Gateway: gateway.Listener.Addr().String(), Backends: []string{backend}, BackendNodes: 1, Attackers: &scenariotest.Attackers{}}}
	if err := tr.holdIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr.idleMetric()
	if m := tr.Result.Metrics["memory-per-idle-connection"]; m.Value == nil || math.Abs(*m.Value-1000) > 0.1 || m.N != 199 || len(m.Warnings) > 0 {
		t.Errorf("%+v, %v", m, *m.Value)
	}
	if n := tr.heldSent(); n != 20 { // twice 10 a second for 1 s
		t.Errorf("%d requests were sent", n)
	}
}
