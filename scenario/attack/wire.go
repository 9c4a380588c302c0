package attack

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/scenario"
)

// The parameters of a Wire.
var (
	ProtocolParameter = scenario.Parameter{Name: "protocol", Default: string(load.HTTP1), OneOf: []string{string(load.HTTP1), string(load.HTTP2), string(load.GRPC)},
		Help: "what attackers speak: HTTP/1.1, HTTP/2, or gRPC by a GRPCRoute"}
	TLSParameter = scenario.Parameter{Name: "tls", Default: tlsOff, OneOf: []string{tlsOff, tlsTerminate, tlsReencrypt, tlsPassthrough},
		Help: "where TLS ends: nowhere, at the gateway, there and at the backend by a BackendTLSPolicy, or at the backend by a TLSRoute"}
	StreamsParameter = scenario.Parameter{Name: "streams", Default: 1, Min: 1, Max: 1000,
		Help: "requests that a connection carries at a time, of HTTP/2 and gRPC"}
	FreshParameter = scenario.Parameter{Name: "fresh", Default: 0.0, Min: 0, Max: 1,
		Help: "share of requests that each get a new connection, with a handshake where there is TLS"}
)

// WireParameters are all of them.
var WireParameters = []scenario.Parameter{ProtocolParameter, TLSParameter, StreamsParameter, FreshParameter}

const (
	tlsOff         = "off"
	tlsTerminate   = "terminate"
	tlsReencrypt   = "reencrypt"
	tlsPassthrough = "passthrough"
)

// A Wire is what is spoken between attackers, gateway and backend.
type Wire struct {
	Protocol load.Protocol
	TLS      string
	Streams  int
	// Fresh is the share of requests that each get a new connection.
	Fresh float64
}

// WireOf is that of a trial's parameters; plain HTTP/1.1 on kept connections for
// a scenario without them.
func WireOf(v scenario.Values) Wire {
	w := Wire{Protocol: load.HTTP1, TLS: tlsOff, Streams: 1}
	if protocol, ok := v[ProtocolParameter.Name].(string); ok {
		w = Wire{load.Protocol(protocol), v.String(TLSParameter.Name), v.Int(StreamsParameter.Name), v.Float(FreshParameter.Name)}
	}
	return w
}

// CheckWire finds what does not go together.
func CheckWire(v map[string]any) error {
	protocol, _ := v[ProtocolParameter.Name].(string)
	streams, _ := v[StreamsParameter.Name].(int)
	if protocol == string(load.HTTP1) && streams > 1 {
		return fmt.Errorf("streams: a connection of HTTP/1.1 carries one request at a time, not %d", streams)
	}
	return nil
}

// String is for people: "HTTP/2 over TLS, 10 streams".
func (w Wire) String() string {
	text := map[load.Protocol]string{load.HTTP1: "HTTP/1.1", load.HTTP2: "HTTP/2", load.GRPC: "gRPC"}[w.Protocol]
	switch w.TLS {
	case tlsTerminate:
		text += " over TLS that ends at the gateway"
	case tlsReencrypt:
		text += " over TLS that ends at the gateway, and TLS again behind it"
	case tlsPassthrough:
		text += " over TLS that is passed through"
	}
	if w.Streams > 1 {
		text += fmt.Sprintf(", %d streams a connection", w.Streams)
	}
	if w.Fresh > 0 {
		text += fmt.Sprintf(", a new connection for %.3g %% of the requests", 100*w.Fresh)
	}
	return text
}

// secure tells whether attackers speak TLS.
func (w Wire) secure() bool { return w.ends() || w.TLS == tlsPassthrough }

// ends tells whether their TLS ends at the gateway.
func (w Wire) ends() bool { return w.TLS == tlsTerminate || w.TLS == tlsReencrypt }

// listener is that of the Gateway, with the certificate of that name.
func (w Wire) listener(certificate string) scenario.Listener {
	switch {
	case w.ends():
		return scenario.Listener{Name: "https", Secret: certificate}
	case w.TLS == tlsPassthrough:
		return scenario.Listener{Name: "tls", Passthrough: true}
	}
	return scenario.Listener{Name: "http"}
}

// routePort is the Service's port that the route leads to.
func (w Wire) routePort() int {
	switch {
	case w.TLS == tlsReencrypt || w.TLS == tlsPassthrough:
		return 443
	case w.Protocol == load.GRPC:
		return 81
	}
	return 80
}

// backendPort is the Service's port of what is asked for directly: what the
// gateway itself asks for, but for the TLS that attackers have to pay for.
func (w Wire) backendPort() int32 {
	if w.secure() {
		return 443
	}
	return 80
}

// Speak sets an attack's options to the wire.
func (w Wire) Speak(o *load.Options) {
	o.Protocol, o.Streams, o.Fresh = w.Protocol, w.Streams, w.Fresh
	if w.secure() {
		o.TLS.Insecure = true // its certificate is signed by itself
	}
}

// Target asks a host at a place for an answer with so many bytes: of gRPC, which
// gives back what it is sent, a message of that size.
func (w Wire) Target(host, place string, payload int) load.Target {
	scheme := "http"
	if w.secure() {
		scheme = "https"
	}
	if w.Protocol == load.GRPC {
		return load.Target{
			URL: scheme + "://" + host + grpcPath, Connect: place, Body: []byte(strings.Repeat("x", payload)), Expect: load.Expect{Body: -1},
		}
	}
	return load.Target{
		URL: fmt.Sprintf("%s://%s/?size=%d", scheme, host, payload), Connect: place,
		Expect: load.Expect{Status: http.StatusOK, Body: int64(payload)},
	}
}

// grpcPath is a method of any service: the backend has them all.
const grpcPath = "/gatemark.Traffic/Call"
