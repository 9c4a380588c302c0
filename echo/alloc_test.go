package echo

import (
	"context"
	"net"
	"strings"
	"testing"
)

// A loop is a connection on which one request arrives again and again.
type loop struct {
	net.Conn
	request string
}

func (l loop) Read(p []byte) (int, error)  { return copy(p, l.request), nil }
func (l loop) Write(p []byte) (int, error) { return len(p), nil }

// loopSession serves a loop, in front of the given server.
func loopSession(s *Server, request string) *session {
	w := &wire{Conn: loop{request: request}, server: s}
	return &session{server: s, wire: w, conn: w, buffer: make([]byte, 4<<10), out: make([]byte, 0, 1<<10)}
}

// running returns a server that serves until the test ends.
func running(tb testing.TB, o Options) *Server {
	tb.Helper()
	o.Listen, o.Pod, o.Instance = "127.0.0.1:0", "echo-0", "77"
	s, err := Listen(o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return s
}

const benchEvent = "POST / HTTP/1.1\r\nhost: a\r\nce-specversion: 1.0\r\nce-id: 17\r\nce-source: s\r\nce-type: t\r\ncontent-length: 2\r\n\r\nxx"

// What a path may allocate for each request. Waiting takes from a pool, which
// may be empty at times.
var paths = []struct {
	name, request, faults string
	allocations           float64
}{
	{"plain", benchRequest, `{}`, 0},
	{"event", benchEvent, `{}`, 0},
	{"rules that do not match", benchRequest, `{"rules":[{"match":{"path":"/x"},"close":{}},{"match":{"route":"r"},"hang":{}}]}`, 0},
	{"status", benchRequest, `{"rules":[{"every":2,"status":{"code":503}}]}`, 0},
	{"fixed delay", benchRequest, `{"rules":[{"delay":{"fixed":"100us"}}]}`, 2},
	{"exponential delay", benchRequest, `{"rules":[{"delay":{"exponential":{"mean":"100us"}}}]}`, 2},
}

func TestPathsDoNotAllocate(t *testing.T) {
	for _, p := range paths {
		t.Run(p.name, func(t *testing.T) {
			c := loopSession(running(t, Options{Faults: faults(t, p.faults)}), p.request)
			n := testing.AllocsPerRun(200, func() {
				if err := c.next(); err != nil {
					t.Fatal(err)
				}
			})
			if n > p.allocations {
				t.Errorf("%v allocations for each request, want at most %v", n, p.allocations)
			}
		})
	}
}

// BenchmarkSession is the cost of a request but for the kernel's part.
func BenchmarkSession(b *testing.B) {
	for _, p := range paths {
		if strings.Contains(p.name, "delay") {
			continue // its time is not its cost
		}
		b.Run(strings.ReplaceAll(p.name, " ", "-"), func(b *testing.B) {
			c := loopSession(running(b, Options{Faults: faults(b, p.faults)}), p.request)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := c.next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
