package echo

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/gatemark/gatemark/echo/events"
)

// A protocol is what a connection speaks.
type protocol int

const (
	http1 protocol = iota
	http1TLS
	http2Plain
	http2TLS
	websocketPlain
	websocketTLS
	unknownTLS // a handshake that is not over, or failed
	protocols
)

var protocolNames = [protocols]string{"http/1.1", "http/1.1+tls", "h2c", "h2", "websocket", "websocket+tls", "tls"}

// A wire is an accepted connection, which counts for itself: counters that
// connections share would cost each request more than all the rest here.
type wire struct {
	net.Conn
	tcp      *net.TCPConn // the same
	server   *Server
	protocol atomic.Int32
	// traffic is what passed since it was accepted.
	traffic
	// recent is what its last event belonged to, and count what its last
	// request on HTTP/2 did.
	recent events.Recent
	count  atomic.Pointer[tally]
	once   sync.Once
}

// traffic is what passed, in requests and in bytes on the wire.
type traffic struct{ requests, in, out atomic.Int64 }

func (t *traffic) add(other *traffic) {
	t.requests.Add(other.requests.Load())
	t.in.Add(other.in.Load())
	t.out.Add(other.out.Load())
}

// add returns nil where the server has stopped.
func (s *Server) add(conn *net.TCPConn) *wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wires == nil {
		conn.Close()
		return nil
	}
	s.counters.accepted.Add(1)
	w := &wire{Conn: conn, tcp: conn, server: s}
	s.wires[w] = struct{}{}
	return w
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.in.Add(int64(n))
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.out.Add(int64(n))
	return n, err
}

// Close closes the connection and adds its counts to the server's.
func (w *wire) Close() error {
	var err error
	w.once.Do(func() {
		err = w.Conn.Close()
		w.server.remove(w)
	})
	return err
}

// reset ends the connection with a TCP reset.
func (w *wire) reset() error {
	return errors.Join(w.tcp.SetLinger(0), w.Close())
}

func (w *wire) speaks(p protocol) { w.protocol.Store(int32(p)) }

func (s *Server) remove(w *wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.wires, w)
	s.counters.protocols[w.protocol.Load()].closed.Add(1)
	s.counters.protocols[w.protocol.Load()].add(&w.traffic)
}

// A replay is a connection of which something was read already.
type replay struct {
	net.Conn
	rest []byte
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.rest) > 0 {
		n := copy(p, r.rest)
		r.rest = r.rest[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}
