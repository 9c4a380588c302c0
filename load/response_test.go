package load

import (
	"errors"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/marker"
)

// parse feeds a response in pieces that end at the given offsets, through a
// buffer, as an event loop does. It returns how much of the input was used.
func parse(r *Response, input string, ends ...int) (used int, done bool, err error) {
	ends = append(ends, len(input))
	start := 0
	for _, end := range ends {
		if end < start {
			continue
		}
		n, done, err := r.Parse([]byte(input[start:end]), false)
		start += n
		if done || err != nil {
			return start, done, err
		}
	}
	return start, false, nil
}

const plain = "HTTP/1.1 200 OK\r\nServer: x\r\nGatemark-Route: a\r\ngatemark-generation: 2\r\nContent-Length: 5\r\n\r\nhello"

func TestParseAccepts(t *testing.T) {
	cases := []struct {
		name, input string
		want        Response
	}{
		{"content-length", plain, Response{Status: 200, Body: 5}},
		{"empty body", "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", Response{Status: 404}},
		{"no reason", "HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n", Response{Status: 404}},
		{"close", "HTTP/1.1 503 x\r\nConnection: upgrade , Close\r\ncontent-length: 0\r\n\r\n", Response{Status: 503, Close: true}},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", Response{Status: 200, Body: 1}},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", Response{Status: 200, Body: 15}},
		{"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nContent-Length: 7\r\nGatemark-Route: b\r\n\r\n", Response{Status: 200, Body: 1}},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", Response{Status: 204}},
		{"not modified, with the length of what was not sent", "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", Response{Status: 304}},
		{"informational first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nGatemark-Route: no\r\nConnection: close\r\n\r\n" + plain, Response{Status: 200, Body: 5, Informational: 2}},
		{"switching protocols", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", Response{Status: 101, Close: true}},
		{"old version", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", Response{Status: 200, Body: 1, Close: true}},
		{"old version kept alive", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx", Response{Status: 200, Body: 1}},
		{"bare line feeds in the head", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", Response{Status: 200, Body: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for split := range len(c.input) {
				var r Response
				r.Reset(false)
				used, done, err := parse(&r, c.input, split)
				if err != nil || !done || used != len(c.input) {
					t.Fatalf("split at %d: used %d of %d, done %v, %v", split, used, len(c.input), done, err)
				}
				if r.Status != c.want.Status || r.Body != c.want.Body || r.Close != c.want.Close || r.Informational != c.want.Informational {
					t.Fatalf("split at %d: got status %d, body %d, close %v, informational %d", split, r.Status, r.Body, r.Close, r.Informational)
				}
				if want := marker.Expect("a", 2); strings.HasSuffix(c.input, plain) != r.Marker.Match(&want) {
					t.Fatalf("split at %d: got %v", split, r.Marker.Marker())
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name, input string
		want        error
	}{
		{"another protocol", "HTTP/2.0 200 OK\r\n\r\n", errStatusLine},
		{"no protocol", "hello\r\n\r\n", errStatusLine},
		{"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", errStatusLine},
		{"a status below 100", "HTTP/1.1 099 OK\r\n\r\n", errStatusLine},
		{"no colon", ok + "server\r\n\r\n", errFieldName},
		{"space before the colon", ok + "Server : x\r\n\r\n", errFieldName},
		{"no name", ok + ": x\r\n\r\n", errFieldName},
		{"a folded line", ok + "Server: x\r\n y\r\n\r\n", errFieldName},
		{"a control character", ok + "Server: abcdefgh\x00i\r\n\r\n", errFieldValue},
		{"a delete character", ok + "Server: \x7f\r\n\r\n", errFieldValue},
		{"a negative length", ok + "Content-Length: -1\r\n\r\n", errContentLength},
		{"an empty length", ok + "Content-Length:\r\n\r\n", errContentLength},
		{"a length that overflows", ok + "Content-Length: 9999999999999999999\r\n\r\n", errContentLength},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", errContentLength},
		{"two lengths in one", ok + "Content-Length: 1, 1\r\n\r\n", errContentLength},
		{"another coding", ok + "Transfer-Encoding: gzip\r\n\r\n", errTransfer},
		{"two framings", ok + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", errFraming},
		{"chunks in the old version", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", errFraming},
		{"a chunk size that is none", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", errChunkSize},
		{"a chunk size that overflows", ok + "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", errChunkSize},
		{"a chunk size with a bare line feed", ok + "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n", errChunkSize},
		{"a chunk without end", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", errChunkEnd},
		{"informational without end", strings.Repeat("HTTP/1.1 100 x\r\n\r\n", 40), errInformational},
		{"a head without end", ok + strings.Repeat("a: 0123456789\r\n", MaxHead/15+1), errHeadTooLong},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r Response
			r.Reset(false)
			_, done, err := parse(&r, c.input)
			if done || !errors.Is(err, c.want) {
				t.Fatalf("done %v, got %v, want %v", done, err, c.want)
			}
			if ClassOf(err) != Malformed {
				t.Errorf("class %v", ClassOf(err))
			}
		})
	}
}

func TestParseUntilClose(t *testing.T) {
	var r Response
	r.Reset(false)
	if _, done, err := parse(&r, "HTTP/1.1 200 OK\r\n\r\nhello", 21); done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	if !r.EOF() || r.Body != 5 || !r.Close {
		t.Errorf("body %d, close %v", r.Body, r.Close)
	}
	for _, cut := range []string{"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n\r", plain[:len(plain)-1]} {
		r.Reset(false)
		if _, done, err := parse(&r, cut); done || err != nil || r.EOF() {
			t.Errorf("%q is taken as complete", cut)
		}
	}
}

func TestParseHead(t *testing.T) {
	var r Response
	r.Reset(true)
	used, done, err := parse(&r, plain)
	if err != nil || !done || used != len(plain)-len("hello") || r.Body != 0 {
		t.Errorf("used %d, done %v, body %d, %v", used, done, r.Body, err)
	}
}

func TestParseLeavesTheNextResponse(t *testing.T) {
	var r Response
	r.Reset(false)
	used, done, err := parse(&r, plain+plain)
	if err != nil || !done || used != len(plain) {
		t.Errorf("used %d of %d, done %v, %v", used, len(plain), done, err)
	}
}

func TestParseLineLongerThanTheBuffer(t *testing.T) {
	var r Response
	r.Reset(false)
	if _, _, err := r.Parse([]byte("HTTP/1.1 200 OK, and so on"), true); !errors.Is(err, errLineTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	var r Response
	input, want := []byte(plain), marker.Expect("a", 2)
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(false)
		if _, done, err := r.Parse(input, false); !done || err != nil || !r.Marker.Match(&want) {
			t.Fatal(done, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each response", n)
	}
	broken := []byte("HTTP/1.1 200 OK\r\nserver\r\n")
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(false)
		if _, _, err := r.Parse(broken, false); err == nil {
			t.Fatal("accepted")
		}
	}); n != 0 {
		t.Errorf("%v allocations for each broken response", n)
	}
}

// What Envoy sends for echo's answer.
const typical = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ngatemark-pod: echo-7b5f9c6d4-x2x9z\r\n" +
	"gatemark-instance: 8c1f2a77\r\ngatemark-route: route-propagation/route-1234\r\ngatemark-generation: 1\r\n" +
	"date: Sat, 21 Nov 2026 11:22:52 GMT\r\nx-envoy-upstream-service-time: 0\r\nserver: envoy\r\n\r\n"

func BenchmarkParse(b *testing.B) {
	var r Response
	input, want := []byte(typical), marker.Expect("route-propagation/route-1234", 1)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(false)
		if _, done, err := r.Parse(input, false); !done || err != nil || !r.Marker.Match(&want) {
			b.Fatal(done, err)
		}
	}
}
