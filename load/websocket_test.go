package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/gatemark/gatemark/marker"
)

// message is a request that is a WebSocket message of that body.
func message(body string) *Request {
	r := get("/ws?n=" + string(numberMark))
	r.body, r.expect = []byte(body), Expect{Status: 101, Body: -1}
	r.header = []headerField{{name: "x-test", value: "yes"}, {name: "upgrade", value: "not this"}}
	return r
}

// serveWebSocket sends each message back, in the pieces that it asks for.
func serveWebSocket(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Test") != "yes" || r.URL.RawQuery != "n=00000000000000000001" {
			t.Errorf("upgrade of %s with %v", r.URL, r.Header)
		}
		w.Header().Set("Gatemark-Route", "route")
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		conn.SetReadLimit(1 << 24)
		for {
			kind, data, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			if kind != websocket.MessageBinary {
				t.Errorf("message of kind %v", kind)
			}
			switch {
			case string(data) == "close":
				_ = conn.Close(websocket.StatusGoingAway, "bye")
				return
			case string(data) == "ping":
				go func() { _ = conn.Ping(context.WithoutCancel(r.Context())) }()
			}
			if err := sendPieces(r.Context(), conn, data); err != nil {
				return
			}
		}
	})
}

// sendPieces sends a message as one frame if it is short, as several if not.
func sendPieces(ctx context.Context, conn *websocket.Conn, data []byte) error {
	w, err := conn.Writer(ctx, websocket.MessageBinary)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), 1000)
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return w.Close()
}

func TestWebSocketAgainstServer(t *testing.T) {
	for _, streams := range []int{1, 10} {
		server := httptest.NewServer(serveWebSocket(t))
		defer server.Close()
		var requests []*Request
		var want []outcome
		for _, size := range []int{0, 1, 7, 8, 9, 125, 126, 127, 1000, 65535, 65536, 300_000, 4} {
			body := strings.Repeat("x", size)
			if size == 4 {
				body = "ping"
			}
			requests = append(requests, message(body), message(string(numberMark)+body))
			for _, s := range []int{size, size + numberDigits} {
				want = append(want, outcome{uint64(len(want) + 1), OK, 101, -1, int64(s), -1, marker.Marker{Route: "route"}})
			}
		}
		w := newWitness(t)
		converse(t, server.Listener.Addr(), newWebSocket(w, streams), w, requests)
		w.want(t, want...)
	}
}

func TestWebSocketClosed(t *testing.T) {
	server := httptest.NewServer(serveWebSocket(t))
	defer server.Close()
	w := newWitness(t)
	c := newWebSocket(w, 4)
	converse(t, server.Listener.Addr(), c, w, []*Request{message("a"), message("close"), message("b"), message("c")})
	w.want(t, outcome{1, OK, 101, -1, 1, -1, marker.Marker{Route: "route"}},
		outcome{Number: 2, Class: EOF}, outcome{Number: 3, Class: EOF}, outcome{Number: 4, Class: EOF})
	if c.room() != 0 || !c.greeted() {
		t.Error("there is room behind a close")
	}
}

func TestWebSocketRefused(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"kept": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(marker.AppliedHeader, "5")
			http.Error(w, "not now", http.StatusServiceUnavailable)
		},
		"until it closes": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 503 No\r\ngatemark-delay-applied: 5\r\n\r\nnot now\n"))
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			w := newWitness(t)
			c := newWebSocket(w, 4)
			converse(t, server.Listener.Addr(), c, w, []*Request{message("a")})
			w.want(t, outcome{1, Status5xx, 503, -1, 8, 5, marker.Marker{}})
			if c.room() != 0 || !c.greeted() {
				t.Error("there is room behind a refusal")
			}
		})
	}
}

// upgraded is a codec whose upgrade was accepted, with one message under way.
func upgraded(t testing.TB, w *witness, head string) *webSocket {
	t.Helper()
	c := newWebSocket(w, 2)
	c.request(c.greet(nil), &exchange{request: message("1"), number: 1})
	c.key = "dGhlIHNhbXBsZSBub25jZQ==" // RFC 6455, section 1.3
	if _, _, err := c.receive([]byte(head), false, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

const accepted = "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\n" +
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

// TestWebSocketParts gives the same bytes in two parts, cut at every position,
// and one by one.
func TestWebSocketParts(t *testing.T) {
	long := strings.Repeat("x", 300)
	frames := "\x02\x02ab" + "\x89\x03abc" + "\x00\x00" + "\x80\x7e\x01\x2c" + long + // one message of three pieces
		"\x8a\x00" + "\x81\x01x" + "\x88\x05\x03\xe8bye" + "what follows"
	whole := accepted + frames
	play := func(size func(at int) int) {
		w := newWitness(t)
		c := upgraded(t, w, "")
		c.waiting.push(&exchange{request: message("2"), number: 2})
		var sent []byte
		start, end := 0, 0
		for end < len(whole) {
			end = min(end+size(end), len(whole))
			used, out, err := c.receive([]byte(whole[start:end]), false, sent)
			if err != nil {
				t.Fatalf("at %d: %v", end, err)
			}
			start, sent = start+used, out
		}
		if start != len(whole) {
			t.Errorf("used %d of %d bytes", start, len(whole))
		}
		w.want(t, outcome{1, OK, 101, -1, 302, -1, marker.Marker{}}, outcome{2, OK, 101, -1, 1, -1, marker.Marker{}})
		if got, want := unmasked(t, sent), "[2 1] [10 abc] [8 \x03\xe8] "; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	for cut := range len(whole) {
		play(func(at int) int {
			if at == 0 && cut > 0 {
				return cut
			}
			return len(whole)
		})
	}
	play(func(int) int { return 1 })
}

// unmasked reads short frames from a client.
func unmasked(t *testing.T, data []byte) string {
	var out strings.Builder
	for len(data) > 0 {
		if data[0]&0xf0 != 0x80 || data[1]&0x80 == 0 {
			t.Fatalf("frame %x is not a masked whole", data)
		}
		size := int(data[1] & 0x7f)
		payload := data[6 : 6+size]
		for i := range payload {
			payload[i] ^= data[2+i%4]
		}
		fmt.Fprintf(&out, "[%d %s] ", data[0]&0xf, payload)
		data = data[6+size:]
	}
	return out.String()
}

func TestWebSocketBroken(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want error
	}{
		"reserved bit":         {"\xc2\x00", errFrameBits},
		"reserved data":        {"\x83\x00", errFrameBits},
		"reserved control":     {"\x8b\x00", errFrameBits},
		"masked":               {"\x82\x81abcdx", errFrameMask},
		"ping in pieces":       {"\x09\x00", errFrameLength},
		"ping too long":        {"\x89\x7e\x00\x7e", errFrameLength},
		"16 bits for 125":      {"\x82\x7e\x00\x7d", errFrameLength},
		"64 bits for 65535":    {"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", errFrameLength},
		"64th bit":             {"\x82\x7f\x80\x00\x00\x00\x00\x01\x00\x00", errFrameLength},
		"continued nothing":    {"\x80\x01x", errFragment},
		"message in a message": {"\x02\x01x\x82\x01y", errFragment},
		"endless":              {"\x02\x01x\x80\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", errMessageSize},
		"close of one byte":    {"\x88\x01x", errClose},
		"answer to nothing":    {"\x82\x01x\x82\x01y", ErrUnasked},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := upgraded(t, newWitness(t), accepted)
			if _, _, err := c2.receive([]byte(c.said), false, nil); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestWebSocketBrokenUpgrade(t *testing.T) {
	for name, change := range map[string][2]string{
		"another key's":  {"s3pP", "s3pQ"},
		"no upgrade":     {"upgrade: WebSocket\r\n", ""},
		"another":        {"WebSocket", "h2c"},
		"no connection":  {"connection: keep-alive, Upgrade\r\n", ""},
		"no accept":      {"Sec-WebSocket-Accept", "x"},
		"extension":      {"upgrade:", "Sec-WebSocket-Extensions: permessage-deflate\r\nupgrade:"},
		"not a response": {"HTTP/1.1 101", "SSH-2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := upgraded(t, newWitness(t), "")
			_, _, err := c.receive([]byte(strings.Replace(accepted, change[0], change[1], 1)), false, nil)
			if ClassOf(err) != Malformed {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWebSocketUnasked(t *testing.T) {
	c := newWebSocket(newWitness(t), 1)
	c.greet(nil)
	if _, _, err := c.receive([]byte(accepted), false, nil); !errors.Is(err, ErrUnasked) {
		t.Errorf("error %v", err)
	}
}
