package dataplane

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/truth/config"
)

// backendsOfEcho are gatemark's own backend, for calls and for connections that
// are passed through.
func backendsOfEcho(t *testing.T, pod string) (calls, passed config.Backend) {
	t.Helper()
	server, err := echo.Listen(echo.Options{Listen: "127.0.0.1:0", TLS: echo.TLS{Listen: "127.0.0.1:0"}, Pod: pod})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := func(a net.Addr) []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(a.String())} }
	return config.Backend{H2C: true, Endpoints: at(server.Address())}, config.Backend{Endpoints: at(server.TLSAddress())}
}

// TestTheProberSeesEveryKindOfRoute come into force: its questions, the replica's
// answers and the backend's marker fit together.
func TestTheProberSeesEveryKindOfRoute(t *testing.T) {
	calls, passed := backendsOfEcho(t, "pod-1")
	mark := func(generation int64) []gatewayv1.HTTPRouteFilter {
		f := &gatewayv1.HTTPHeaderFilter{}
		for _, field := range marker.Expect("r", generation).Filter() {
			f.Set = append(f.Set, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(field[0]), Value: field[1]})
		}
		return []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: f}}
	}
	service, prefix := "/gatemark.Any", gatewayv1.PathMatchPathPrefix
	b := start(t)
	backends := map[string]config.Backend{"calls": calls, "passed": passed}
	plainly := func(rules ...config.Rule) config.Listener {
		return config.Listener{Name: "http", Port: 80, Rules: rules}
	}
	through := func(rules ...config.Rule) config.Listener {
		return config.Listener{Name: "tls", Port: 443, Passthrough: true, Rules: rules}
	}
	b.publish(backends, plainly(), through())
	for _, c := range []struct {
		name     string
		port     int32
		question probe.Question
		kinds    probe.Connections
		listener config.Listener
	}{
		{"GRPCRoute", 80, probe.Question{
			Host: "r.test", Path: "/gatemark.Any/Call", Protocol: load.GRPC,
			Old: probe.Answers(404), New: probe.Serves(marker.Marker{Route: "r", Generation: 2, Pod: "pod-1"}),
		}, probe.Both, plainly(config.Rule{
			Route: "GRPCRoute/n/r", Hostnames: []string{"r.test"}, Filters: mark(2), Backends: to("calls"),
			Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &prefix, Value: &service}}},
		})},
		{"TLSRoute", 443, probe.Question{
			Host: "r.test", TLS: true, Old: probe.Closes(), New: probe.Serves(marker.Marker{Pod: "pod-1"}),
		}, probe.Fresh, through(config.Rule{Route: "TLSRoute/n/r", Hostnames: []string{"r.test"}, Backends: to("passed")})},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := probe.Target{Name: "replica", Address: netip.AddrPortFrom(b.address, uint16(config.ServingPort(c.port)))}
			i, err := probe.Start(c.question, []probe.Target{target}, probe.Options{
				Connections: c.kinds, Step: 2 * time.Millisecond, FreshStep: 5 * time.Millisecond, Settle: 60 * time.Millisecond, SettleAnswers: 5, Limit: 20 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := i.Old(ctx); err != nil {
				t.Fatal(err)
			}
			i.Mark(time.Now())
			if c.port == 80 {
				b.publish(backends, c.listener, through())
			} else {
				b.publish(backends, plainly(), c.listener)
			}
			o, err := i.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Valid(); err != nil || len(o.Censored()) > 0 {
				t.Errorf("censored: %v, %v", o.Censored(), err)
			}
			total := o.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
			if total.ErrorCount() > 0 {
				t.Errorf("errors %v, statuses %v", total.Errors, total.Status)
			}
		})
	}
}
