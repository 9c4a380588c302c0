package stream

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/load"
)

// TestTrafficOfOtherProtocols: calls of gRPC, and requests over TLS that goes to
// the backend itself, are told apart by the pod that answers.
func TestTrafficOfOtherProtocols(t *testing.T) {
	server, err := echo.Listen(echo.Options{Listen: "127.0.0.1:0", TLS: echo.TLS{Listen: "127.0.0.1:0"}, Pod: "echo-6f-x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	right := Answer{Backends: []string{"echo"}}
	for _, c := range []struct {
		name     string
		protocol load.Protocol
		stream   Stream
		at       net.Addr
	}{
		{"gRPC", load.GRPC, Stream{Host: "a.test", Path: "/gatemark.Any/Call", Before: right, After: right}, server.Address()},
		{"TLS", load.HTTP1, Stream{Host: "a.test", Path: "/", Secure: true, Port: 443, Before: right, After: right}, server.TLSAddress()},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoints := func(int32) []Endpoint { return []Endpoint{{Name: "echo", Address: c.at.String()}} }
			traffic, err := Start(ctx, []Stream{c.stream}, endpoints, Options{Rate: 200, FreshEvery: 2, Connections: 2, Timeout: 5 * time.Second, Protocol: c.protocol})
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); len(traffic.Log.Since(0)) < 20; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d answers", len(traffic.Log.Since(0)))
				}
			}
			if _, err := traffic.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			fresh := map[bool]int{}
			for _, h := range traffic.Log.Since(0) {
				l := traffic.Lanes[h.Lane]
				if fresh[l.Fresh]++; Tell(&h, l.Fresh, right, right) != ShowsEither {
					t.Errorf("%s: %s, %v", l, h.What(), h.Marker)
				}
			}
			if fresh[true] == 0 || fresh[false] == 0 {
				t.Errorf("answers on new connections and on kept ones: %v", fresh)
			}
		})
	}
}
