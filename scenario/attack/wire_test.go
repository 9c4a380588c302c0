package attack_test

import (
	"context"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// TestWires: the backend answers in every one of them, and the answer has the
// size that was asked for.
func TestWires(t *testing.T) {
	server, err := echo.Listen(echo.Options{Listen: "127.0.0.1:0", TLS: echo.TLS{Listen: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, w := range []attack.Wire{
		{Protocol: load.HTTP1, TLS: "off", Streams: 1},
		{Protocol: load.HTTP1, TLS: "terminate", Streams: 1, Fresh: 0.5},
		{Protocol: load.HTTP1, TLS: "reencrypt", Streams: 1},
		{Protocol: load.HTTP2, TLS: "off", Streams: 4},
		{Protocol: load.HTTP2, TLS: "passthrough", Streams: 4},
		{Protocol: load.GRPC, TLS: "off", Streams: 2},
		{Protocol: load.GRPC, TLS: "terminate", Streams: 2},
		{}, // of a scenario without the parameters
	} {
		t.Run(w.String(), func(t *testing.T) {
			address := server.Address()
			if w.TLS != "" && w.TLS != "off" {
				address = server.TLSAddress()
			}
			const size, requests = 3000, 20
			o := load.Options{
				Targets: []load.Target{w.Target("a.test", address.String(), size)}, Connections: 2, Threads: 1,
				Requests: requests, Duration: 10 * time.Second,
			}
			w.Speak(&o)
			result, err := load.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Errors) > 0 || result.Requests != requests || result.BytesIn < size*requests {
				t.Errorf("%d requests, errors %v, %d bytes came", result.Requests, result.Errors, result.BytesIn)
			}
			if w.Fresh > 0 && (result.Handshake == nil || result.Handshake.Count < requests/4) {
				t.Errorf("handshakes %+v", result.Handshake)
			}
		})
	}
}

func TestTheWireOfParameters(t *testing.T) {
	s := &scenario.Scenario{Parameters: attack.WireParameters}
	w := attack.WireOf(scenariotest.Trial(t, s, map[string]any{"protocol": "h2", "tls": "terminate", "streams": 10, "fresh": 0.1}).Values)
	if want := (attack.Wire{load.HTTP2, "terminate", 10, 0.1}); w != want {
		t.Errorf("%+v, want %+v", w, want)
	}
	if text := w.String(); text != "HTTP/2 over TLS that ends at the gateway, 10 streams a connection, a new connection for 10 % of the requests" {
		t.Errorf("it says %q", text)
	}
	if err := attack.CheckWire(map[string]any{"protocol": "http1", "streams": 2}); err == nil || !strings.Contains(err.Error(), "one request at a time") {
		t.Errorf("streams of HTTP/1.1: %v", err)
	}
	if err := attack.CheckWire(map[string]any{"protocol": "grpc", "streams": 2}); err != nil {
		t.Error(err)
	}
}

// TestWhatAWireNeeds: the manifests make the objects.
func TestWhatAWireNeeds(t *testing.T) {
	trial := scenariotest.Trial(t, &scenario.Scenario{}, nil)
	data := map[string]any{
		"Name": "wired", "Namespace": trial.Namespace, "Version": "v1", "Gateway": "gateway", "Listener": "tls", "Host": "a.test", "Certificate": "c\nc", "Port": 81,
	}
	for _, template := range []string{"authority", "BackendTLSPolicy", scenario.GRPCRoute, scenario.TLSRoute} {
		objects, err := trial.Render("wire.yaml", attack.WireManifest+`{{template "`+template+`" .}}`, data)
		if err != nil || len(objects) != 1 || objects[0].GetName() != "wired" {
			t.Errorf("%s: %v, %v", template, objects, err)
			continue
		}
		if template == "BackendTLSPolicy" {
			policy := scenariotest.Typed[gatewayv1.BackendTLSPolicy](t, objects, template)
			if to := policy.Spec.TargetRefs[0]; to.Name != "echo" || *to.SectionName != "tls" || policy.Spec.Validation.CACertificateRefs[0].Name != "wired" {
				t.Errorf("%+v", policy.Spec)
			}
		}
		if template == scenario.GRPCRoute {
			route := scenariotest.Typed[gatewayv1.GRPCRoute](t, objects, template)
			if *route.Spec.ParentRefs[0].SectionName != "tls" || *route.Spec.Rules[0].BackendRefs[0].Port != 81 {
				t.Errorf("%+v", route.Spec)
			}
		}
	}
}
