package load

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

func TestHTTP2Greeting(t *testing.T) {
	s := sit(t, 10, false)
	if !strings.HasPrefix(string(s.sent), http2Preface) {
		t.Errorf("greeting begins with %q", s.sent[:24])
	}
	if room := s.codec.room(); room != 1 {
		t.Errorf("room for %d before the server's settings, want 1", room)
	}
	s.settle()
	want := []sentFrame{{Kind: "SETTINGS"}, {Kind: "WINDOW_UPDATE", Size: receiveWindow - initialWindow}, {Kind: "SETTINGS", Ended: true}}
	if diff := cmp.Diff(want, s.frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if room := s.codec.room(); room != 10 {
		t.Errorf("room for %d, want 10", room)
	}
}

func TestHTTP2AnswerInFull(t *testing.T) {
	s := sit(t, 10, false).settle()
	s.request(get("/a"))
	server := newScript()
	server.head(1, false, ":status", "103", "link", "x")
	server.head(1, false, ":status", "200", "content-length", "5", "gatemark-route", "r", "gatemark-generation", "7",
		"gatemark-pod", "p", "gatemark-delay-applied", "1500")
	_ = server.WriteDataPadded(1, false, []byte("he"), make([]byte, 9))
	_ = server.WritePing(false, [8]byte{1, 2, 3})
	_ = server.WriteRawFrame(0x42, 0xff, 1, []byte("unknown"))
	_ = server.WritePriority(1, http2.PriorityParam{})
	_ = server.WriteData(1, false, []byte("llo"))
	server.head(1, true, "checksum", "none")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.want(t, outcome{1, OK, 200, -1, 5, 1500, marker.Marker{Route: "r", Generation: 7, Pod: "p"}})
	last := s.frames()
	if got := last[len(last)-1]; got.Kind != "PING" {
		t.Errorf("last frame sent is %v, want the answer to the ping", got)
	}
}

// TestHTTP2Parts gives the same bytes in two parts, cut at every position, and
// one by one.
func TestHTTP2Parts(t *testing.T) {
	server := greeted(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 50})
	server.head(3, false, ":status", "200", "gatemark-route", "second")
	block := server.fields(":status", "200", "gatemark-route", "first", "content-length", "4")
	_ = server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3], PadLength: 5, Priority: http2.PriorityParam{StreamDep: 7, Weight: 9}})
	_ = server.WriteContinuation(1, false, block[3:5])
	_ = server.WriteContinuation(1, false, nil)
	_ = server.WriteContinuation(1, true, block[5:])
	_ = server.WriteDataPadded(1, false, []byte("ab"), make([]byte, 3))
	_ = server.WriteData(3, false, []byte("xyz"))
	_ = server.WriteDataPadded(1, true, []byte("cd"), make([]byte, 2))
	_ = server.WriteWindowUpdate(0, 10)
	server.head(3, true, "trailer", "yes")
	_ = server.WriteRSTStream(1, http2.ErrCodeNo)
	_ = server.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
	whole := server.Bytes()
	want := []outcome{
		{1, OK, 200, -1, 4, -1, marker.Marker{Route: "first"}},
		{2, OK, 200, -1, 3, -1, marker.Marker{Route: "second"}},
	}
	play := func(t *testing.T, size func(at int) int) {
		s := sit(t, 2, false)
		s.request(get("/1"))
		h := s.codec.(*http2Codec)
		h.settled = true // so that two can be sent at once
		s.request(get("/2"))
		h.settled = false
		start, end := 0, 0
		for end < len(whole) {
			end = min(end+size(end), len(whole))
			used, _, err := s.codec.receive(whole[start:end], false, nil)
			if err != nil {
				t.Fatalf("at %d: %v", end, err)
			}
			start += used
		}
		if start != len(whole) {
			t.Errorf("used %d of %d bytes", start, len(whole))
		}
		s.want(t, want...)
		if room := s.codec.room(); room != 0 {
			t.Errorf("room for %d behind a goaway", room)
		}
	}
	for cut := range len(whole) {
		play(t, func(at int) int {
			if at == 0 && cut > 0 {
				return cut
			}
			return len(whole)
		})
	}
	play(t, func(int) int { return 1 })
}

func TestHTTP2Head(t *testing.T) {
	s := sit(t, 1, false).settle()
	r := get("/")
	r.method, r.head = "HEAD", true
	s.request(r)
	server := newScript()
	server.head(1, true, ":status", "200", "content-length", "500")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.want(t, outcome{1, OK, 200, -1, 0, -1, marker.Marker{}})
}

func TestHTTP2GoAway(t *testing.T) {
	s := sit(t, 10, false).settle()
	for i := range 4 {
		s.request(get(fmt.Sprint("/", i)))
	}
	server := newScript()
	_ = server.WriteGoAway(maxStream, http2.ErrCodeNo, nil) // the first of two
	_ = server.WriteGoAway(3, http2.ErrCodeNo, nil)
	server.head(3, true, ":status", "200")
	server.head(1, true, ":status", "200")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	ok := outcome{1, OK, 200, -1, 0, -1, marker.Marker{}}
	second := ok
	second.Number = 2
	s.want(t, outcome{Number: 3, Class: Reset}, outcome{Number: 4, Class: Reset}, second, ok)
	if s.codec.room() != 0 || !s.codec.(*http2Codec).greeted() {
		t.Error("there is room behind a goaway")
	}
	if s.codec.greet(nil); s.codec.room() != 1 {
		t.Error("there is no room on a new connection")
	}
}

func TestHTTP2Reset(t *testing.T) {
	s := sit(t, 10, false).settle()
	s.request(get("/1"))
	s.request(get("/2"))
	server := newScript()
	_ = server.WriteRSTStream(1, http2.ErrCodeRefusedStream)
	_ = server.WriteRSTStream(1, http2.ErrCodeRefusedStream)
	_ = server.WriteWindowUpdate(1, 5)
	server.head(3, true, ":status", "200")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.want(t, outcome{Number: 1, Class: Reset}, outcome{2, OK, 200, -1, 0, -1, marker.Marker{}})
}

// TestHTTP2Forget drops an exchange whose answer is on its way: it is ignored,
// and the fields that it adds to HPACK's table are not lost.
func TestHTTP2Forget(t *testing.T) {
	s := sit(t, 10, false).settle()
	x := s.request(get("/1"))
	s.request(get("/2"))
	s.frames()
	var alone bool
	if s.sent, alone = s.codec.forget(x, nil); !alone {
		t.Error("the connection cannot go on")
	}
	if diff := cmp.Diff([]sentFrame{{Kind: "RST_STREAM", Stream: 1, Code: codeCancel}}, s.frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	server := newScript()
	server.head(1, false, ":status", "200", "gatemark-route", "r")
	_ = server.WriteData(1, true, []byte("late"))
	server.head(3, true, ":status", "200", "gatemark-route", "r")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.want(t, outcome{2, OK, 200, -1, 0, -1, marker.Marker{Route: "r"}})
	if room := s.codec.room(); room != 10 {
		t.Errorf("room for %d, want 10", room)
	}
}

// TestHTTP2SlowStream leaves one stream open while many others come and go:
// its slot is passed over.
func TestHTTP2SlowStream(t *testing.T) {
	s := sit(t, 2, false).settle()
	slow := s.request(get("/slow"))
	server := newScript()
	for range 100 {
		x := s.request(get("/"))
		server.Reset()
		server.head(x.stream, true, ":status", "200")
		if err := s.hear(server.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	server.Reset()
	server.head(slow.stream, true, ":status", "404")
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	if last := s.ended[100]; len(s.ended) != 101 || last.Number != 1 || last.Status != 404 {
		t.Errorf("%d ended, the last is %+v", len(s.ended), last)
	}
}

func TestHTTP2ServerLimitsStreams(t *testing.T) {
	s := sit(t, 10, false).settle(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3})
	if room := s.codec.room(); room != 3 {
		t.Errorf("room for %d, want 3", room)
	}
	s.request(get("/"))
	s.settle(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
	if s.codec.room() != 0 || s.codec.(*http2Codec).greeted() {
		t.Error("a server that allows no streams now may allow some later")
	}
}

// TestHTTP2Markers keeps the markers of answers apart that come at the same
// time, whether their heads are alike or not, and change HPACK's table or not.
func TestHTTP2Markers(t *testing.T) {
	for _, indexed := range []bool{true, false} {
		s := sit(t, 100, false).settle()
		server := newScript()
		block := func(route string) []byte {
			server.block.Reset()
			for _, f := range [][2]string{{":status", "200"}, {"gatemark-route", route}} {
				_ = server.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: !indexed})
			}
			return bytes.Clone(server.block.Bytes())
		}
		var want []outcome
		for round := range 3 {
			server.Buffer.Reset()
			var streams []uint32
			for i := range 60 {
				route := fmt.Sprint("r", i%20)
				x := s.request(get("/"))
				streams = append(streams, x.stream)
				_ = server.WriteHeaders(http2.HeadersFrameParam{StreamID: x.stream, BlockFragment: block(route), EndHeaders: true})
				want = append(want, outcome{uint64(60*round + i + 1), OK, 200, -1, 1, -1, marker.Marker{Route: route}})
			}
			for _, stream := range streams {
				_ = server.WriteData(stream, true, []byte("x"))
			}
			if err := s.hear(server.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		s.want(t, want...)
	}
}

// TestHTTP2Known checks that a block is not taken for what it meant before
// HPACK's table changed, or on the connection before.
func TestHTTP2Known(t *testing.T) {
	s := sit(t, 10, false)
	var want []outcome
	for connection := range 2 {
		s.sent = s.codec.greet(nil)
		s.settle()
		for i := range 3 {
			route := fmt.Sprintf("r%d%d", connection, i)
			server := newScript()
			first, second, third := s.request(get("/")).stream, s.request(get("/")).stream, s.request(get("/")).stream
			_ = server.WriteRawFrame(http2.FrameHeaders, 5, first, append([]byte("\x88\x40\x0egatemark-route\x03"), route...))
			_ = server.WriteRawFrame(http2.FrameHeaders, 5, second, []byte("\x88\xbe")) // the same
			_ = server.WriteRawFrame(http2.FrameHeaders, 5, third, []byte("\x88\xbe"))
			if err := s.hear(server.Bytes()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				want = append(want, outcome{uint64(len(want) + 1), OK, 200, -1, 0, -1, marker.Marker{Route: route}})
			}
		}
	}
	s.want(t, want...)
	s.sent = s.codec.greet(nil)
	s.settle()
	s.request(get("/"))
	if err := s.hear([]byte("\x00\x00\x02\x01\x05\x00\x00\x00\x01\x88\xbe")); !errors.Is(err, errHeaderBlock) {
		t.Errorf("a table of another connection is used: %v", err)
	}
}

// TestHTTP2Allocations shows that nothing is allocated for a request once its
// bytes and its answer's are known.
func TestHTTP2Allocations(t *testing.T) {
	for _, grpc := range []bool{false, true} {
		turn := benchTurn(t, grpc, post("/"+string(numberMark), "hello world"))
		if allocations := testing.AllocsPerRun(100, turn); allocations > 0 {
			t.Errorf("grpc %v: %v allocations for each request", grpc, allocations)
		}
	}
}
