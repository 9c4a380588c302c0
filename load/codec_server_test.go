package load

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// listen is a listener that ends with the test.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// converse sends requests to a server, as many at a time as there is room for,
// until all have ended.
func converse(t *testing.T, address net.Addr, c codec, w *witness, requests []*Request) {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	writes := make(chan []byte, len(requests)+1<<16)
	defer close(writes)
	go func() {
		for data := range writes {
			_, _ = conn.Write(data) // shows when reading
		}
	}()
	next := uint64(0)
	fill := func(out []byte) {
		for c.room() > 0 && int(next) < len(requests) {
			next++
			out = c.request(out, &exchange{request: requests[next-1], number: next})
		}
		if len(out) > 0 {
			writes <- out
		}
	}
	fill(c.greet(nil))
	buffer, kept := make([]byte, 10_000), 0
	for len(w.ended) < len(requests) {
		n, err := conn.Read(buffer[kept:])
		if errors.Is(err, io.EOF) {
			c.ended()
			return
		}
		if err != nil {
			t.Fatalf("%d of %d ended: %v", len(w.ended), len(requests), err)
		}
		kept += n
		used, out, err := c.receive(buffer[:kept], kept == len(buffer), nil)
		if err != nil {
			t.Fatalf("%d of %d ended: %v", len(w.ended), len(requests), err)
		}
		kept = copy(buffer, buffer[used:kept])
		fill(out)
	}
}

// byNumber orders outcomes as their requests were sent.
func byNumber(a, b outcome) int { return int(a.Number) - int(b.Number) }
