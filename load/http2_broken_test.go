package load

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/marker"
)

// TestHTTP2BrokenConnections takes one fault at a time that leaves nothing to
// be understood behind it.
func TestHTTP2BrokenConnections(t *testing.T) {
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) func(*script) {
		return func(s *script) { _ = s.WriteRawFrame(kind, flags, stream, []byte(payload)) }
	}
	ok := func(s *script) { s.head(1, true, ":status", "200") }
	for name, c := range map[string]struct {
		say  []func(*script)
		want error
	}{
		"frame too large":             {[]func(*script){raw(http2.FrameData, 0, 1, strings.Repeat("x", maxFrame+1))}, errFrameSize},
		"data on the connection":      {[]func(*script){raw(http2.FrameData, 0, 0, "x")}, errFrameStream},
		"data on an idle stream":      {[]func(*script){raw(http2.FrameData, 0, 9, "x")}, errFrameStream},
		"data on a server's stream":   {[]func(*script){raw(http2.FrameData, 0, 2, "x")}, errFrameStream},
		"data behind the end":         {[]func(*script){ok, raw(http2.FrameData, 0, 1, "x")}, errFrameStream},
		"head behind the end":         {[]func(*script){ok, ok}, errFrameStream},
		"head on an idle stream":      {[]func(*script){raw(http2.FrameHeaders, 4, 9, "\x88")}, errFrameStream},
		"padding larger than data":    {[]func(*script){raw(http2.FrameHeaders, 4, 1, "\x88"), raw(http2.FrameData, 8, 1, "\x05abcd")}, errFramePadding},
		"padding without its length":  {[]func(*script){raw(http2.FrameData, 8, 1, "")}, errFrameSize},
		"priority without its fields": {[]func(*script){raw(http2.FrameHeaders, 0x24, 1, "abcd")}, errFrameSize},
		"short priority":              {[]func(*script){raw(http2.FramePriority, 0, 1, "abcd")}, errFrameSize},
		"push":                        {[]func(*script){raw(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x88")}, errFramePush},
		"push allowed":                {[]func(*script){raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x01")}, errSettings},
		"settings on a stream":        {[]func(*script){raw(http2.FrameSettings, 0, 1, "")}, errFrameStream},
		"settings of odd size":        {[]func(*script){raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00")}, errFrameSize},
		"acknowledgement with more":   {[]func(*script){raw(http2.FrameSettings, 1, 0, "\x00\x03\x00\x00\x00\x01")}, errFrameSize},
		"initial window too large":    {[]func(*script){raw(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00")}, errWindow},
		"frame size too small":        {[]func(*script){raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01")}, errSettings},
		"window past its end":         {[]func(*script){raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff")}, errWindow},
		"window of nothing":           {[]func(*script){raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00")}, errWindow},
		"window of an idle stream":    {[]func(*script){raw(http2.FrameWindowUpdate, 0, 9, "\x00\x00\x00\x01")}, errFrameStream},
		"short window":                {[]func(*script){raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00")}, errFrameSize},
		"short ping":                  {[]func(*script){raw(http2.FramePing, 0, 0, "1234567")}, errFrameSize},
		"ping on a stream":            {[]func(*script){raw(http2.FramePing, 0, 1, "12345678")}, errFrameStream},
		"reset of the connection":     {[]func(*script){raw(http2.FrameRSTStream, 0, 0, "\x00\x00\x00\x00")}, errFrameStream},
		"reset of an idle stream":     {[]func(*script){raw(http2.FrameRSTStream, 0, 9, "\x00\x00\x00\x00")}, errFrameStream},
		"short reset":                 {[]func(*script){raw(http2.FrameRSTStream, 0, 1, "\x00\x00\x00")}, errFrameSize},
		"short goaway":                {[]func(*script){raw(http2.FrameGoAway, 0, 0, "\x00\x00\x00\x00")}, errFrameSize},
		"goaway on a stream":          {[]func(*script){raw(http2.FrameGoAway, 0, 1, "\x00\x00\x00\x01\x00\x00\x00\x00")}, errFrameStream},
		"goaway that takes back": {[]func(*script){
			raw(http2.FrameGoAway, 0, 0, "\x00\x00\x00\x01\x00\x00\x00\x00"),
			raw(http2.FrameGoAway, 0, 0, "\x00\x00\x00\x03\x00\x00\x00\x00"),
		}, errGoAway},
		"continuation of nothing":     {[]func(*script){raw(http2.FrameContinuation, 4, 1, "\x88")}, errContinuation},
		"ping within a header block":  {[]func(*script){raw(http2.FrameHeaders, 0, 1, "\x88"), raw(http2.FramePing, 0, 0, "12345678")}, errContinuation},
		"continuation of another":     {[]func(*script){raw(http2.FrameHeaders, 0, 1, "\x88"), raw(http2.FrameContinuation, 4, 3, "\x88")}, errContinuation},
		"index out of the table":      {[]func(*script){raw(http2.FrameHeaders, 4, 1, "\xff\xff\x03")}, errHeaderBlock},
		"header block cut short":      {[]func(*script){raw(http2.FrameHeaders, 4, 1, "\x88\x40\x05ab")}, errHeaderBlock},
		"table larger than allowed":   {[]func(*script){raw(http2.FrameHeaders, 4, 1, "\x3f\xff\xff\x03\x88")}, errHeaderBlock},
		"header block without an end": {[]func(*script){raw(http2.FrameHeaders, 0, 1, "\x88"), longBlock}, errHeaderTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			s := sit(t, 1, false).settle()
			s.request(get("/"))
			server := newScript()
			for _, say := range c.say {
				say(server)
			}
			_, _, err := s.codec.receive(server.Bytes(), false, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func longBlock(s *script) {
	for range MaxHead/maxFrame + 1 {
		_ = s.WriteContinuation(1, false, make([]byte, maxFrame))
	}
}

func TestHTTP2NotHTTP2(t *testing.T) {
	for _, said := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		"\x00\x00\x00\x04\x01\x00\x00\x00\x00",          // an acknowledgement
		"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + "ping", // something else
	} {
		if err := sit(t, 1, false).hear([]byte(said)); !errors.Is(err, errNotHTTP2) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// TestHTTP2BrokenAnswers takes one fault at a time that ends one exchange, and
// leaves the connection as it was.
func TestHTTP2BrokenAnswers(t *testing.T) {
	for name, say := range map[string]func(*script){
		"no status":                func(s *script) { s.head(1, true, "server", "x") },
		"nothing":                  func(s *script) { s.head(1, true) },
		"two statuses":             func(s *script) { s.head(1, true, ":status", "200", ":status", "200") },
		"status of two digits":     func(s *script) { s.head(1, true, ":status", "20") },
		"status below 100":         func(s *script) { s.head(1, true, ":status", "099") },
		"status of letters":        func(s *script) { s.head(1, true, ":status", "abc") },
		"status behind a field":    func(s *script) { s.head(1, true, "a", "b", ":status", "200") },
		"path":                     func(s *script) { s.head(1, true, ":status", "200", ":path", "/") },
		"name in capitals":         func(s *script) { s.head(1, true, ":status", "200", "Server", "x") },
		"name with a space":        func(s *script) { s.head(1, true, ":status", "200", "a b", "x") },
		"empty name":               func(s *script) { s.head(1, true, ":status", "200", "", "x") },
		"line break in a value":    func(s *script) { s.head(1, true, ":status", "200", "a", "b\r\nc") },
		"connection":               func(s *script) { s.head(1, true, ":status", "200", "connection", "close") },
		"transfer-encoding":        func(s *script) { s.head(1, true, ":status", "200", "transfer-encoding", "chunked") },
		"content-length in words":  func(s *script) { s.head(1, true, ":status", "200", "content-length", "five") },
		"two content-lengths":      func(s *script) { s.head(1, true, ":status", "200", "content-length", "5", "content-length", "6") },
		"no body":                  func(s *script) { s.head(1, true, ":status", "200", "content-length", "5") },
		"switching protocols":      func(s *script) { s.head(1, false, ":status", "101") },
		"informational at the end": func(s *script) { s.head(1, true, ":status", "100") },
		"list over the limit": func(s *script) {
			s.head(1, true, ":status", "200", "a", strings.Repeat("x", 4000))
			block := append([]byte{0x88}, strings.Repeat("\xbe", 100)...)
			s.Buffer.Reset()
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: append(
				s.fields("b", strings.Repeat("x", 4000)), block...)})
		},
		"many informational": func(s *script) {
			for range maxInformational + 1 {
				s.head(1, false, ":status", "100")
			}
		},
		"data before the head": func(s *script) { _ = s.WriteData(1, true, []byte("x")) },
		"less than announced": func(s *script) {
			s.head(1, false, ":status", "200", "content-length", "5")
			_ = s.WriteData(1, true, []byte("four"))
		},
		"more than announced": func(s *script) {
			s.head(1, false, ":status", "200", "content-length", "5")
			_ = s.WriteData(1, true, []byte("sixsix"))
		},
		"trailers without an end": func(s *script) {
			s.head(1, false, ":status", "200")
			s.head(1, false, "a", "b")
		},
		"trailers with a status": func(s *script) {
			s.head(1, false, ":status", "200")
			s.head(1, true, ":status", "200")
		},
		"window of nothing": func(s *script) { _ = s.WriteRawFrame(http2.FrameWindowUpdate, 0, 1, make([]byte, 4)) },
		"window past its end": func(s *script) {
			_ = s.WriteRawFrame(http2.FrameWindowUpdate, 0, 1, []byte("\x7f\xff\xff\xff"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sit(t, 2, false).settle()
			s.request(get("/1"))
			s.request(get("/2"))
			s.frames()
			server := newScript()
			say(server)
			server.head(3, true, ":status", "204")
			if err := s.hear(server.Bytes()); err != nil {
				t.Fatal(err)
			}
			s.want(t, outcome{Number: 1, Class: Malformed}, outcome{2, OK, 204, -1, 0, -1, marker.Marker{}})
			want := []sentFrame{{Kind: "RST_STREAM", Stream: 1, Code: codeProtocol}}
			if diff := cmp.Diff(want, s.frames()); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}
