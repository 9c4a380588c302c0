package echo

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/echo/fault"
)

// A session serves one HTTP/1.1 connection.
type session struct {
	server  *Server
	wire    *wire
	conn    net.Conn // the wire, or TLS on it
	request request
	reply   reply
	buffer  []byte // what was read and not used is buffer[start:end]
	start   int
	end     int
	out     []byte // responses not written yet
	raw     []byte // the request's head
	pinned  []byte // a head that had to make room for its body
	body    []byte // of the request, where it is wanted or came with the head
	kept    []byte // what body is made of
	decoder *events.Decoder
	event   events.Event
	count   *tally // of the last request, which the next is most often like
}

var (
	errClosing = errors.New("closing")
	errHTTP2   = errors.New("the client speaks HTTP/2")
)

// preface is how HTTP/2 begins, as far as it looks like a head.
const preface = "PRI * HTTP/2.0"

// serve serves a connection to its end.
func (s *Server) serve(w *wire, secure *tls.Config) {
	if !s.enter(w) {
		return
	}
	defer s.wait.Done()
	conn, isHTTP2, err := s.secure(w, secure)
	switch {
	case err != nil:
		w.Close() // counted where the handshake is
		return
	case isHTTP2:
		w.speaks(http2TLS)
		s.serveHTTP2(w, conn)
		return
	}
	c := &session{server: s, wire: w, conn: conn, buffer: make([]byte, 4<<10), out: make([]byte, 0, 1<<10)}
	// An error is the connection's end; those that matter are counted where
	// they occur.
	for err == nil {
		err = c.next()
	}
	switch {
	case errors.Is(err, errHTTP2):
		w.speaks(http2Plain)
		s.serveHTTP2(w, &replay{conn, c.buffer[:c.end]})
	default:
		conn.Close() // the peer may have gone first
		w.Close()
	}
}

// enter registers the goroutine, unless the server has stopped.
func (s *Server) enter(w *wire) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wires == nil {
		return false
	}
	s.wait.Add(1)
	return true
}

// next answers one request. Responses are written when no further request has
// been read, so that pipelined ones share a write.
func (c *session) next() error {
	head, err := c.head()
	if err != nil {
		return err
	}
	r := &c.request
	problem := r.parse(head)
	if problem != nil && !errors.Is(problem, errSize) {
		if string(head) == preface && c.wire.requests.Load() == 0 && c.conn == c.wire {
			return errHTTP2
		}
		return c.refuse("400 Bad Request", problem)
	}
	c.raw = head
	c.server.counters.flight.enter()
	defer c.server.counters.flight.leave()
	if err := c.readBody(head); err != nil {
		return err
	}
	return c.answer(problem)
}

// answer answers the request that was read.
func (c *session) answer(problem error) error {
	r, s := &c.request, c.server
	c.reply = reply{status: 200, size: r.size, last: r.close || r.oldVersion && !r.keepAlive || s.closing.Load()}
	set := s.faults.Load()
	if problem != nil {
		c.reply.bad(problem)
		return c.done(nil)
	}
	health := set.Health(r.target)
	if !health && set.Quiet() && r.delay == nil && r.status == nil {
		if r.upgrade {
			return c.webSocket(nil)
		}
		c.receive()
		return c.done(nil)
	}
	return c.faulty(set, health)
}

// faulty answers a request that a fault may concern.
func (c *session) faulty(set *fault.Set, health bool) error {
	r := &c.request
	q := inquiry{delay: r.delay, status: r.status, read: time.Now()}
	q.Query = fault.Query{Path: r.path(), Host: r.host, Route: r.route, Health: health, Kinds: fault.Waits | fault.Answers}
	// What was answered before this one must not wait with it.
	if err := c.flush(); err != nil {
		return err
	}
	v, err := c.server.judge(&q, c.server.stopped)
	if errors.Is(err, errGone) {
		return err
	}
	if err != nil {
		c.reply.bad(err)
		return c.done(nil)
	}
	if health {
		c.reply.status, c.reply.health = set.HealthStatus(), true
	}
	c.reply.verdict, c.reply.read = v, q.read
	if r.upgrade && (v.Kind == fault.None || v.Kind == fault.TrickleKind) {
		return c.webSocket(&q)
	}
	switch v.Kind {
	case fault.StatusKind:
		c.reply.status, c.reply.retryAfter = v.Code, v.RetryAfter
	case fault.None, fault.TrickleKind:
		if !health {
			c.receive()
		}
	default:
		c.reply.status = 0
	}
	return c.done(&v)
}

// done counts and writes the reply. The verdict is nil for a proper one.
func (c *session) done(v *fault.Verdict) error {
	if c.reply.health {
		c.wire.requests.Add(1)
		c.server.health.count(c.wire.RemoteAddr(), string(c.request.agent), c.reply.status)
	} else {
		c.tally(c.request.route, c.reply.status)
	}
	if v != nil && v.Kind != fault.None && v.Kind != fault.StatusKind {
		return c.wrong(v)
	}
	c.appendHead()
	if err := c.appendBody(c.reply.size); err != nil {
		return err
	}
	if c.reply.last {
		return errors.Join(c.flush(), errClosing)
	}
	if c.start == c.end {
		return c.flush()
	}
	return nil
}

// head returns the next request's head, without the empty line at its end.
func (c *session) head() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.Index(c.buffer[c.start+searched:c.end], headEnd); i >= 0 {
			head := c.buffer[c.start : c.start+searched+i]
			c.start += searched + i + len(headEnd)
			return head, nil
		}
		searched = max(0, c.end-c.start-len(headEnd)+1)
		if c.end-c.start >= maxHead {
			return nil, c.refuse("431 Request Header Fields Too Large", errRequest)
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once, with room for at least some bytes.
func (c *session) fill() error {
	if c.start == c.end {
		c.start, c.end = 0, 0
	}
	if c.end == len(c.buffer) {
		if c.start == 0 {
			c.buffer = append(c.buffer, make([]byte, len(c.buffer))...)
		}
		c.end = copy(c.buffer, c.buffer[c.start:c.end])
		c.start = 0
	}
	n, err := c.conn.Read(c.buffer[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	return err
}

// refuse answers a request that cannot be understood, and ends the connection.
func (c *session) refuse(status string, reason error) error {
	c.tally(nil, 400)
	c.out = append(c.out, "HTTP/1.1 "+status+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"...)
	return errors.Join(reason, c.flush())
}
