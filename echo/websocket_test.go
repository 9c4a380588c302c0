package echo

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	netwebsocket "golang.org/x/net/websocket"

	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

func dialWebSocket(t *testing.T, s *Server) (*websocket.Conn, *http.Response) {
	t.Helper()
	header := http.Header{marker.RouteHeader: {"ns/r"}}
	conn, response, err := websocket.Dial(t.Context(), "ws://"+s.Address().String()+"/chat", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(maxMessage)
	return conn, response
}

func TestWebSocketEchoes(t *testing.T) {
	s, _ := serve(t, Options{})
	conn, response := dialWebSocket(t, s)
	if response.Header.Get(marker.PodHeader) != "echo-0" || response.Header.Get(marker.RouteHeader) != "ns/r" {
		t.Errorf("header %v", response.Header)
	}
	for _, size := range []int{0, 1, 125, 126, 70_000, 1 << 20} {
		sent := bytes.Repeat([]byte("x"), size)
		if err := conn.Write(t.Context(), websocket.MessageBinary, sent); err != nil {
			t.Fatal(err)
		}
		kind, got, err := conn.Read(t.Context())
		if err != nil || kind != websocket.MessageBinary || !bytes.Equal(got, sent) {
			t.Errorf("size %d: %v, %d bytes, %v", size, kind, len(got), err)
		}
	}
	eventually(t, "every message is answered", func() bool { return s.Counters().WebSocketMessages == 6 })
	got := s.Counters()
	if got.InFlight != 0 || got.Routes[0] != (RouteCount{"ns/r", 101, 1}) || got.Protocols[0].Protocol != "websocket" {
		t.Errorf("%+v", got)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("close: %v", err)
	}
	eventually(t, "the connection ends", func() bool { return s.Counters().Open == 0 })
}

func TestWebSocketWithAnotherClient(t *testing.T) {
	s, _ := serve(t, Options{})
	conn, err := netwebsocket.Dial("ws://"+s.Address().String()+"/", "", "http://elsewhere.example")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		var got string
		if err := netwebsocket.Message.Send(conn, "hello"); err != nil {
			t.Fatal(err)
		}
		if err := netwebsocket.Message.Receive(conn, &got); err != nil || got != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestWebSocketFaults(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"delay":{"fixed":"3ms"}},{"every":3,"close":{}}]}`)})
	conn, response := dialWebSocket(t, s) // the first request
	if response.Header.Get(marker.AppliedHeader) == "" {
		t.Error("the handshake's delay is not told")
	}
	for i := range 2 { // the second and third
		start := time.Now()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte("m")); err != nil {
			t.Fatal(err)
		}
		_, _, err := conn.Read(t.Context())
		if (err != nil) != (i == 1) {
			t.Errorf("message %d: %v", i, err)
		}
		if took := time.Since(start); took < 3*time.Millisecond {
			t.Errorf("message %d took %v", i, took)
		}
	}
	if err := s.SetFaults(fault.Faults{Rules: []fault.Rule{{Status: &fault.Status{Code: 503}}}}); err != nil {
		t.Fatal(err)
	}
	_, response, err := websocket.Dial(t.Context(), "ws://"+s.Address().String()+"/", nil)
	if err == nil || response == nil || response.StatusCode != 503 {
		t.Errorf("handshake with a fault: %v, %v", response, err)
	}
}

func TestWebSocketOutlivesNothing(t *testing.T) {
	s, stop := serve(t, Options{})
	conn, _ := dialWebSocket(t, s)
	defer conn.CloseNow()
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestBadWebSocketHandshake(t *testing.T) {
	s, _ := serve(t, Options{})
	r := exchange(t, s, "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 1)[0]
	if r.StatusCode != 400 || !r.Close {
		t.Errorf("status %d, close %v", r.StatusCode, r.Close)
	}
}
