package load

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
)

// TestHTTP2Request reads a request back with x/net, when it is first sent, when
// its fields are in HPACK's table, and on another connection.
func TestHTTP2Request(t *testing.T) {
	r := post("/path?n="+string(numberMark), "body "+string(numberMark)+"!")
	r.header = []headerField{
		{name: "user-agent", value: "gatemark"}, {name: "x-number", value: string(numberMark) + "-" + string(numberMark)},
		{name: "connection", value: "close"}, {name: "content-type", value: "text/plain"},
	}
	s := sit(t, 10, false)
	for connection := range 2 {
		s.sent, s.reader = s.codec.greet(nil), nil
		s.settle()
		s.frames()
		sizes := []int{}
		for range 3 {
			x := s.request(r)
			sizes = append(sizes, len(s.sent))
			number := fmt.Sprintf("%020d", x.number)
			body := "body " + number + "!"
			if !bytes.HasSuffix(s.sent, []byte(body)) {
				t.Errorf("body is not %q: %q", body, s.sent[len(s.sent)-len(body):])
			}
			want := []sentFrame{{Kind: "HEADERS", Stream: x.stream, Fields: []string{
				":scheme: http", ":method: POST", ":authority: example.test", ":path: /path?n=" + number, "user-agent: gatemark",
				"x-number: " + number + "-" + number, "content-type: text/plain", "content-length: 26",
			}}, {Kind: "DATA", Stream: x.stream, Size: 26, Ended: true}}
			if diff := cmp.Diff(want, s.frames()); diff != "" {
				t.Errorf("connection %d, frames (-want +got):\n%s", connection, diff)
			}
		}
		if sizes[0] <= sizes[1] || sizes[1] != sizes[2] {
			t.Errorf("sizes %v, want the first larger, the others alike", sizes)
		}
	}
}

// TestHTTP2ManyRequests sends more different requests than there is room for
// in HPACK's table, whose size changes in between.
func TestHTTP2ManyRequests(t *testing.T) {
	s := sit(t, 1<<20, false).settle(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 512})
	s.frames()
	s.reader.ReadMetaHeaders.SetAllowedMaxDynamicTableSize(initialTable)
	var requests []*Request
	for i := range maxTemplates + 50 {
		requests = append(requests, get(fmt.Sprintf("/%d/%s", i, strings.Repeat("x", i%70))))
	}
	turn := func() {
		for i := range 3 * len(requests) {
			r := requests[i*7%len(requests)]
			x := s.request(r)
			want := []sentFrame{{Kind: "HEADERS", Stream: x.stream, Ended: true, Fields: []string{
				":scheme: http", ":method: GET", ":authority: example.test", ":path: " + r.path,
			}}}
			if diff := cmp.Diff(want, s.frames()); diff != "" {
				t.Fatalf("request %d, frames (-want +got):\n%s", x.number, diff)
			}
		}
	}
	for _, size := range []uint32{512, 0, 1 << 20, 0, 100} {
		s.settle(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size})
		s.frames()
		turn()
	}
}

// TestHTTP2LongHead sends a head that needs several frames, with a number at
// each place where one could be cut.
func TestHTTP2LongHead(t *testing.T) {
	for shift := range 2*numberDigits + 60 {
		r := get("/")
		value := strings.Repeat("x", maxFrame-shift) + string(numberMark) + strings.Repeat("y", maxFrame)
		r.header = []headerField{{name: "long", value: value}}
		s := sit(t, 1, false).settle()
		s.frames()
		s.reader.ReadMetaHeaders.SetMaxStringLength(0)
		x := s.request(r)
		got := s.frames()
		want := "long: " + strings.Replace(value, string(numberMark), fmt.Sprintf("%020d", x.number), 1)
		if len(got) != 1 || len(got[0].Fields) != 5 || got[0].Fields[4] != want || !got[0].Ended {
			t.Fatalf("shift %d: the head does not come as it was sent", shift)
		}
	}
}

// TestHTTP2SendWindows holds bodies back in every way, and compares what comes
// in the end.
func TestHTTP2SendWindows(t *testing.T) {
	body := strings.Repeat("a", 20) + string(numberMark) + strings.Repeat("b", 50) + string(numberMark)
	for _, grpc := range []bool{false, true} {
		for initial := range uint32(len(body) + 10) {
			s := sit(t, 2, grpc).settle(http2.Setting{ID: http2.SettingInitialWindowSize, Val: initial})
			s.frames()
			x := s.request(post("/", body))
			want := strings.ReplaceAll(body, string(numberMark), fmt.Sprintf("%020d", x.number))
			if grpc {
				want = "\x00\x00\x00\x00\x6e" + want
			}
			got, ended := s.bodies()
			for step := uint32(1); !ended; step++ {
				if len(got) > int(initial) && step == 1 {
					t.Fatalf("initial window %d: %d bytes were sent", initial, len(got))
				}
				server := newScript()
				_ = server.WriteWindowUpdate(x.stream, step)
				if err := s.hear(server.Bytes()); err != nil {
					t.Fatal(err)
				}
				more, end := s.bodies()
				if len(more) > int(step) {
					t.Fatalf("%d bytes were sent of %d", len(more), step)
				}
				got, ended = got+more, end
			}
			if got != want {
				t.Fatalf("initial window %d: body %q, want %q", initial, got, want)
			}
		}
	}
}

// bodies is what the DATA frames hold that were sent, and whether they end.
func (s *sitting) bodies() (body string, ended bool) {
	framer := http2.NewFramer(nil, bytes.NewReader(s.sent))
	s.sent = nil
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return body, ended
		}
		if d, ok := f.(*http2.DataFrame); ok {
			body, ended = body+string(d.Data()), d.StreamEnded()
		}
	}
}

// TestHTTP2ConnectionWindow has several bodies share the connection's window.
func TestHTTP2ConnectionWindow(t *testing.T) {
	s := sit(t, 10, false).settle(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	s.frames()
	large := post("/", strings.Repeat("x", 40_000))
	for range 3 {
		s.request(large)
	}
	sizes := func() map[uint32]int {
		out := map[uint32]int{}
		for _, f := range s.frames() {
			out[f.Stream] += f.Size
		}
		return out
	}
	if diff := cmp.Diff(map[uint32]int{1: 40_000, 3: initialWindow - 40_000, 5: 0}, sizes()); diff != "" {
		t.Errorf("sent at once (-want +got):\n%s", diff)
	}
	server := newScript()
	_ = server.WriteWindowUpdate(0, 20_000)
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	left := 80_000 - initialWindow
	if diff := cmp.Diff(map[uint32]int{3: left, 5: 20_000 - left}, sizes()); diff != "" {
		t.Errorf("sent behind the update (-want +got):\n%s", diff)
	}
	// A smaller window for all streams, then the answer to what is not sent.
	server.Reset()
	_ = server.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	_ = server.WriteWindowUpdate(0, 100_000)
	server.head(5, true, ":status", "413")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	want := []sentFrame{{Kind: "SETTINGS", Ended: true}, {Kind: "RST_STREAM", Stream: 5, Code: codeCancel}}
	if diff := cmp.Diff(want, s.frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if len(s.ended) != 1 || s.ended[0].Class != Status4xx {
		t.Errorf("ended: %+v", s.ended)
	}
	if s.codec.(*http2Codec).flow.blocked != 0 {
		t.Error("a body is still held back")
	}
}

// TestHTTP2ReceiveWindow takes more than the windows hold, and gives them back
// when half is used.
func TestHTTP2ReceiveWindow(t *testing.T) {
	s := sit(t, 1, false).settle()
	s.request(get("/"))
	s.frames()
	h := s.codec.(*http2Codec)
	h.flow.credit, h.find(1).state.http2.credit = receiveWindow/2+5, receiveWindow/2+9
	server := newScript()
	server.head(1, false, ":status", "200")
	_ = server.WriteDataPadded(1, false, []byte("12345"), []byte{0})
	_ = server.WriteData(1, false, []byte("6789"))
	_ = server.WriteData(1, true, []byte("x"))
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	want := []sentFrame{{Kind: "WINDOW_UPDATE", Size: receiveWindow/2 + 3}, {Kind: "WINDOW_UPDATE", Stream: 1, Size: receiveWindow/2 + 3}}
	if diff := cmp.Diff(want, s.frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if len(s.ended) != 1 || s.ended[0].Body != 10 {
		t.Errorf("ended: %+v", s.ended)
	}
	x := s.request(get("/"))
	h.flow.credit = 3
	server.Reset()
	server.head(x.stream, false, ":status", "200")
	_ = server.WriteData(x.stream, false, []byte("1234"))
	if err := s.hear(server.Bytes()); err != errFlow {
		t.Errorf("more than the window: %v", err)
	}
}

// TestHTTP2LargestWindow has a server that gives back what it has taken of the
// largest window that there can be.
func TestHTTP2LargestWindow(t *testing.T) {
	s := sit(t, 1, false).settle(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
	for _, size := range []int{5, inlineBody + 1} {
		x := s.request(post("/", strings.Repeat("x", size)))
		server := newScript()
		_ = server.WriteWindowUpdate(x.stream, uint32(size))
		server.head(x.stream, true, ":status", "200")
		if err := s.hear(server.Bytes()); err != nil {
			t.Fatal(err)
		}
		if last := s.ended[len(s.ended)-1]; last.Class != OK {
			t.Errorf("body of %d: %+v", size, last)
		}
	}
}
