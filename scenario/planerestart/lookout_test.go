package planerestart

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
)

// TestLookout: a replica that comes without its routes, is ready all the same,
// gets them, and goes.
func TestLookout(t *testing.T) {
	var configured, gone atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !configured.Load() || r.Host != "steady.test" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set(marker.RouteHeader, steady)
	}))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	l := &lookout{host: "steady.test", settle: 50 * ms, find: func(context.Context) ([]kube.Replica, error) {
		return []kube.Replica{{Pod: "ns/a", IP: at.Addr(), Port: at.Port(), Ready: true, Serving: true, Terminating: gone.Load()}}, nil
	}}
	began := time.Now()
	if err := l.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.stop()
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(ms) {
			if time.Now().After(deadline) {
				t.Fatalf("never %s: %q, %+v", what, l.missing(), l.since(began))
			}
		}
	}
	until("early", func() bool { return l.since(began)[0].early["status 404"] > 2 })
	if missing := l.missing(); missing != "replica ns/a does not serve its route" {
		t.Errorf("missing is %q", missing)
	}
	now := time.Now()
	configured.Store(true)
	until("configured", func() bool { return l.missing() == "" })
	if served := l.served(began); served.Before(now) {
		t.Errorf("it served %s before it could", now.Sub(served))
	}
	gone.Store(true)
	until("gone", func() bool { return l.missing() == "no replica serves" })
	if got := l.since(now); len(got) != 0 {
		t.Errorf("since it is configured came %+v", got)
	}
}
