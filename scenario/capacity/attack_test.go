package capacity

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// attacked searches on a small proxy, up to a small rate.
func attacked(t *testing.T, proxy func(http.Handler) http.Handler) *capacity {
	t.Helper()
	server := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	client, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	backend := scenariotest.Backend(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	handler := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend})
	handler.Transport = transport
	gateway := httptest.NewServer(proxy(handler))
	t.Cleanup(gateway.Close)
	c := &capacity{search: search{start: 100, most: 200, resolution: 0.5}, came: map[string]arrived{}}
	c.Place = &attack.Place{
		Trial: scenariotest.Trial(t, Scenario, map[string]any{"warmup": "100ms", "duration": "500ms", "confirm": "1s", "cooldown": "100ms", "connections": 4, "events": 100}),
		CPUs:  2, Gateway: gateway.Listener.Addr().String(), Backends: []string{backend}, BackendNodes: 1, Attackers: &scenariotest.Attackers{},
	}
	c.Kube, c.Target.DataPlane = client, scenario.Selector{Namespace: "gm-1", Labels: "app=proxy"}
	if err := c.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.reported(t)
}

// What is counted here and there agrees: every event that was sent came once.
func TestEveryEventIsCounted(t *testing.T) {
	var passed atomic.Int64
	c := attacked(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed.Add(1)
			h.ServeHTTP(w, r)
		})
	})
	sent := int64(0)
	for _, one := range c.tries {
		if came := c.came[one.source]; one.Sent != one.Received.Requests || came != (arrived{once: one.Sent}) {
			t.Errorf("%s: sent %d, received %d, events %+v", one.step, one.Sent, one.Received.Requests, came)
		}
		if one.stage != direct {
			sent += one.Sent
		}
	}
	if m := c.Result.Metrics["requests-sent"]; sent != passed.Load() || *m.Value != float64(sent) || sent == 0 {
		t.Errorf("requests-sent is %v, %d were, the proxy counted %d", *m.Value, sent, passed.Load())
	}
	for _, f := range c.Result.Findings {
		if strings.Contains(f.ID, "events") {
			t.Error(f.Text)
		}
	}
}

// Every tenth event is answered and goes nowhere; every seventh is sent twice.
func TestLostAndRepeatedEvents(t *testing.T) {
	var n, lost, more atomic.Int64
	c := attacked(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // whoever sent it is gone
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			switch i := n.Add(1); {
			case i%10 == 0:
				lost.Add(1)
				w.WriteHeader(http.StatusAccepted)
				return
			case i%7 == 0:
				more.Add(1)
				twin := r.Clone(r.Context())
				twin.Body = io.NopCloser(bytes.NewReader(body))
				h.ServeHTTP(httptest.NewRecorder(), twin)
			}
			h.ServeHTTP(w, r)
		})
	})
	gotLost, gotMore := int64(0), int64(0)
	for _, one := range c.tries {
		if one.stage != direct {
			gotLost += one.Sent - c.came[one.source].once
			gotMore += c.came[one.source].more
		}
	}
	if gotLost != lost.Load() || gotMore != more.Load() || gotLost == 0 {
		t.Errorf("%d are lost, want %d; %d came more than once, want %d", gotLost, lost.Load(), gotMore, more.Load())
	}
	scenariotest.Finding(t, c.Result, "lost-events")
	scenariotest.Finding(t, c.Result, "repeated-events")
}
