package dataplane

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// call makes a gRPC call with an empty message, and returns its status as the
// header or the trailer has it.
func (b *bench) call(host, path string) (status, message string) {
	b.t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	r := b.request("POST", host, path, strings.NewReader("\x00\x00\x00\x00\x00"))
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	response, err := transport.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		b.t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	if inHead := response.Header.Get("Grpc-Status"); inHead != "" {
		return inHead, string(body)
	}
	return response.Trailer.Get("Grpc-Status"), string(body)
}

// backendOfGRPC answers calls with a name, and with status 0 in a trailer.
func backendOfGRPC(t *testing.T, name string) config.Backend {
	t.Helper()
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
			t.Errorf("%s with te %q", r.Proto, r.Header.Get("Te"))
		}
		w.Header().Set("Content-Type", "application/grpc")
		io.WriteString(w, name)
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	return config.Backend{H2C: true, Endpoints: []netip.AddrPort{served(t, server)}}
}

func TestCallsOfGRPC(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"one": backendOfGRPC(t, "one"), "two": backendOfGRPC(t, "two"), "none": {}}
	exact, prefix := gatewayv1.PathMatchExact, gatewayv1.PathMatchPathPrefix
	on := func(kind gatewayv1.PathMatchType, path string) []gatewayv1.HTTPRouteMatch {
		return []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &kind, Value: &path}}}
	}
	b.publish(backends, plain(
		config.Rule{Route: "GRPCRoute/n/one", Hostnames: []string{"a"}, Matches: on(prefix, "/s"), Backends: to("one")},
		config.Rule{Route: "GRPCRoute/n/two", Hostnames: []string{"a"}, Matches: on(exact, "/s/m"), Backends: to("two")},
		config.Rule{Route: "GRPCRoute/n/none", Hostnames: []string{"b"}, Backends: to("none")},
	))
	for _, c := range []struct{ host, path, status, message string }{
		{"a", "/s/other", "0", "one"},
		{"a", "/s/m", "0", "two"},
		{"a", "/t/m", "12", ""},
		{"b", "/s/m", "14", ""},
		{"c", "/s/m", "12", ""},
	} {
		if status, message := b.call(c.host, c.path); status != c.status || message != c.message {
			t.Errorf("%s%s: status %q with %q, want %q with %q", c.host, c.path, status, message, c.status, c.message)
		}
	}
	b.faults.Set(fault.Faults{ErrorEvery: 1})
	if status, _ := b.call("a", "/s/m"); status != "14" {
		t.Errorf("with errorEvery: status %q", status)
	}
	b.faults.Set(fault.Faults{ErrorsOnChange: time.Hour})
	if status, _ := b.call("a", "/s/m"); status != "14" || b.replica.Injected()["errorsOnChange"] != 1 {
		t.Errorf("with errorsOnChange: status %q, injected %v", status, b.replica.Injected())
	}
}
