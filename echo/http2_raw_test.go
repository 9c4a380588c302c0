package echo

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A raw client speaks HTTP/2 frame by frame.
type raw struct {
	t      *testing.T
	conn   net.Conn
	framer *http2.Framer
}

// dialRaw greets the server, with settings.
func dialRaw(t *testing.T, s *Server, settings ...http2.Setting) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	r := &raw{t, conn, http2.NewFramer(conn, conn)}
	r.framer.AllowIllegalWrites = true
	r.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	r.must(r.framer.WriteSettings(settings...))
	return r
}

func (r *raw) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func block(fields ...string) []byte {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return out.Bytes()
}

func request2(target string, more ...string) []byte {
	return block(append([]string{":method", "GET", ":scheme", "http", ":path", target, ":authority", "h"}, more...)...)
}

func (r *raw) get(id uint32, target string, more ...string) {
	r.t.Helper()
	r.must(r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: request2(target, more...), EndStream: true, EndHeaders: true}))
}

// until reads frames until one of a type, which it returns.
func (r *raw) until(kind http2.FrameType) http2.Frame {
	r.t.Helper()
	for {
		frame, err := r.framer.ReadFrame()
		if err != nil {
			r.t.Fatalf("waiting for %v: %v", kind, err)
		}
		if frame.Header().Type == kind {
			return frame
		}
	}
}

func (r *raw) status(id uint32) string {
	r.t.Helper()
	h := r.until(http2.FrameHeaders).(*http2.MetaHeadersFrame)
	if h.StreamID != id {
		r.t.Fatalf("stream %d, want %d", h.StreamID, id)
	}
	return h.PseudoValue("status")
}

func TestHTTP2WindowsAreKept(t *testing.T) {
	s, _ := serve(t, Options{})
	r := dialRaw(t, s, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	r.get(1, "/?size=25")
	if got := r.status(1); got != "200" {
		t.Errorf("status %s", got)
	}
	var got []byte
	for _, step := range []struct {
		grow uint32
		want int
	}{{0, 10}, {7, 17}, {100, 25}} {
		if step.grow > 0 {
			r.must(r.framer.WriteWindowUpdate(1, step.grow))
		}
		for len(got) < step.want {
			got = append(got, r.until(http2.FrameData).(*http2.DataFrame).Data()...)
		}
		if len(got) != step.want {
			t.Fatalf("%d bytes, the window allows %d", len(got), step.want)
		}
	}
	if !bytes.Equal(got, page[:25]) {
		t.Errorf("got %q", got)
	}
	// A window that is full holds up nobody else.
	r.get(3, "/?size=25")
	r.get(5, "/")
	seen := map[uint32]bool{} // in whatever order
	for range 2 {
		seen[r.until(http2.FrameHeaders).Header().StreamID] = true
	}
	if !seen[3] || !seen[5] {
		t.Errorf("answers on streams %v", seen)
	}
	// Settings change windows of open streams, be it below 0.
	r.must(r.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	r.must(r.framer.WriteWindowUpdate(3, 10)) // from -10 to 0
	r.must(r.framer.WritePing(false, [8]byte{1}))
	r.until(http2.FramePing)
	r.must(r.framer.WriteWindowUpdate(3, 15))
	for n := 10; n < 25; { // 10 were sent with the header
		n += len(r.until(http2.FrameData).(*http2.DataFrame).Data())
	}
}

func TestHTTP2ConnectionWindow(t *testing.T) {
	s, _ := serve(t, Options{})
	r := dialRaw(t, s, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	r.get(1, "/?size=100000") // of 65535
	sum := 0
	for sum < firstWindow {
		sum += len(r.until(http2.FrameData).(*http2.DataFrame).Data())
	}
	r.must(r.framer.WriteWindowUpdate(0, 100_000))
	for sum < 100_000 {
		sum += len(r.until(http2.FrameData).(*http2.DataFrame).Data())
	}
	// A client that leaves in the middle gets no more, and the rest goes on.
	r.get(3, "/?size=1000000")
	r.status(3)
	r.must(r.framer.WriteRSTStream(3, http2.ErrCodeCancel))
	r.must(r.framer.WriteWindowUpdate(0, 1<<20))
	r.get(5, "/")
	if got := r.status(5); got != "200" {
		t.Errorf("status %s", got)
	}
	eventually(t, "all requests end", func() bool { return s.Counters().InFlight == 0 })
}

func TestHTTP2UploadsTrailersPaddingAndContinuations(t *testing.T) {
	s, _ := serve(t, Options{})
	client := h2c(t)
	response, err := client.Post("http://"+s.Address().String(), "text/plain", bytes.NewReader(make([]byte, 20<<20)))
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%v, %v", response, err)
	}
	response.Body.Close()

	r := dialRaw(t, s)
	head := request2("/", "gatemark-route", "r", "cookie", strings.Repeat("x", 3000))
	r.must(r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head[:100]}))
	r.must(r.framer.WriteContinuation(1, false, head[100:2000]))
	r.must(r.framer.WriteContinuation(1, true, head[2000:]))
	r.must(r.framer.WriteDataPadded(1, false, []byte("hello"), make([]byte, 50)))
	r.must(r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block("gatemark-route", "no"), EndStream: true, EndHeaders: true}))
	h := r.until(http2.FrameHeaders).(*http2.MetaHeadersFrame)
	route := ""
	for _, f := range h.RegularFields() {
		if f.Name == "gatemark-route" {
			route = f.Value
		}
	}
	if route != "r" || h.PseudoValue("status") != "200" || !h.StreamEnded() {
		t.Errorf("route %q, %v", route, h)
	}
	// What comes after the end is ignored, and the compression stays in step.
	r.must(r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request2("/"), EndStream: true, EndHeaders: true}))
	r.must(r.framer.WriteData(1, true, []byte("x")))
	r.get(3, "/")
	if got := r.status(3); got != "200" {
		t.Errorf("status %s", got)
	}
}

func TestHTTP2ProtocolErrors(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*raw) error
		want http2.ErrCode
	}{
		"even stream": {func(r *raw) error {
			return r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, BlockFragment: request2("/"), EndHeaders: true})
		}, http2.ErrCodeProtocol},
		"no header block": {func(r *raw) error {
			return r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		}, http2.ErrCodeCompression},
		"endless header": {func(r *raw) error {
			err := r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request2("/")})
			for range 10 {
				err = errors.Join(err, r.framer.WriteContinuation(1, false, block("a", strings.Repeat("~", 8000))))
			}
			return err
		}, http2.ErrCodeEnhanceYourCalm},
		"a window too large": {func(r *raw) error { return r.framer.WriteWindowUpdate(0, 1<<31-1) }, http2.ErrCodeFlowControl},
		"bad setting": {func(r *raw) error {
			return r.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
		}, http2.ErrCodeProtocol},
		"continuation of nothing": {func(r *raw) error { return r.framer.WriteContinuation(1, true, nil) }, http2.ErrCodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, Options{})
			r := dialRaw(t, s)
			r.must(c.send(r))
			if got := r.until(http2.FrameGoAway).(*http2.GoAwayFrame).ErrCode; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			eventually(t, "the connection ends", func() bool { return s.Counters().Open == 0 })
		})
	}
}

func TestHTTP2TooManyStreams(t *testing.T) {
	s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"hang":{}}]}`)})
	r := dialRaw(t, s)
	for id := range uint32(maxStreams + 1) {
		r.get(2*id+1, "/")
	}
	refused := r.until(http2.FrameRSTStream).(*http2.RSTStreamFrame)
	if refused.ErrCode != http2.ErrCodeRefusedStream || refused.StreamID != 2*maxStreams+1 {
		t.Errorf("%v", refused)
	}
	r.conn.Close()
	eventually(t, "all requests end", func() bool { return s.Counters().InFlight == 0 })
	if got := s.Counters().Routes[0]; got != (RouteCount{"", 0, maxStreams}) {
		t.Errorf("%+v", got)
	}
}

func TestHTTP2HeadHasNoBody(t *testing.T) {
	s, _ := serve(t, Options{})
	response, err := h2c(t).Head("http://" + s.Address().String() + "/?size=9")
	if err != nil || response.ContentLength != 9 || response.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", response, err)
	}
}

func TestAppendLength(t *testing.T) {
	for _, n := range []int{0, 126, 127, 128, 254, 255, 1000, 16_000, 70_000} {
		value := strings.Repeat("v", n)
		fields, err := hpack.NewDecoder(4096, nil).DecodeFull(appendField(nil, "name", value))
		if err != nil || len(fields) != 1 || fields[0].Name != "name" || fields[0].Value != value {
			t.Errorf("%d: %v", n, err)
		}
	}
	for _, status := range []int{200, 204, 404, 599} {
		fields, err := hpack.NewDecoder(4096, nil).DecodeFull(appendStatus(nil, status))
		if err != nil || fields[0].Name != ":status" || fields[0].Value != strconv.Itoa(status) {
			t.Errorf("%d: %v, %v", status, fields, err)
		}
	}
}
