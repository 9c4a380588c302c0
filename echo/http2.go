package echo

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

// http2Server answers HTTP/2 by net/http's server, which is handed connections
// once it is known that they speak it. The same server in golang.org/x/net is
// deprecated in its favour.
type http2Server struct {
	server *Server
	http   *http.Server
	conns  chan net.Conn
	closed chan struct{}
	ended  chan struct{}

	text, pod, instance []string // values of header fields
}

// maxStreams is how many requests a connection may have open. A gateway is
// free to put all of its requests on one connection.
const maxStreams = 10_000

type wireKey struct{}

func newHTTP2(s *Server) *http2Server {
	h := &http2Server{
		server: s, conns: make(chan net.Conn), closed: make(chan struct{}), ended: make(chan struct{}),
		text: []string{"text/plain"}, pod: []string{s.options.Pod}, instance: []string{s.options.Instance},
	}
	h.http = &http.Server{
		Handler:   h,
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:  log.New(io.Discard, "", 0), // of clients that break the protocol
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, wireKey{}, wireOf(conn))
		},
	}
	h.http.Protocols.SetHTTP2(true)
	h.http.Protocols.SetUnencryptedHTTP2(true)
	return h
}

func (h *http2Server) start() {
	go func() {
		defer close(h.ended)
		_ = h.http.Serve(h) // always an error: that it was closed
	}()
}

// hand gives a connection to the server.
func (h *http2Server) hand(conn net.Conn) {
	select {
	case h.conns <- conn:
	case <-h.server.stopped:
		conn.Close()
	}
}

// shutDown tells clients not to begin new requests, and waits for the others.
func (h *http2Server) shutDown(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start := time.Now()
	if err := h.http.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		h.server.counters.acceptErrors.Add(1)
	}
	// Those that speak HTTP/1.1 have as long.
	time.Sleep(patience - time.Since(start))
}

func (h *http2Server) close() error {
	err := h.http.Close()
	<-h.ended
	return err
}

// Accept, Close and Addr make it a net.Listener of what is handed to it.
func (h *http2Server) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *http2Server) Close() error {
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
	return nil
}

// Addr is the port's.
func (h *http2Server) Addr() net.Addr { return h.server.Address() }

// A call is one request on HTTP/2.
type call struct {
	*http2Server
	w       http.ResponseWriter
	r       *http.Request
	wire    *wire
	route   string
	health  bool
	verdict fault.Verdict
	read    time.Time // where the verdict waits
	status  int
}

// ServeHTTP answers one request.
func (h *http2Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.server
	s.counters.flight.enter()
	defer s.counters.flight.leave()
	c := &call{http2Server: h, w: w, r: r, wire: r.Context().Value(wireKey{}).(*wire), status: http.StatusOK}
	c.wire.requests.Add(1)
	c.route = r.Header.Get(marker.RouteHeader)
	if isGRPC(r.Header.Get("Content-Type")) {
		c.gRPC()
		return
	}
	c.health = s.faults.Load().Health([]byte(r.URL.Path))
	body, err := c.readBody()
	if err != nil {
		c.bad(err)
		return
	}
	if err := c.judge(); err != nil {
		c.bad(err)
		return
	}
	c.answer(body)
}

// readBody reads the request's body and returns it where it is an event.
func (c *call) readBody() ([]byte, error) {
	if c.r.Header.Get("Content-Type") == "" || !isStructured([]byte(c.r.Header.Get("Content-Type"))) {
		if c.r.ContentLength != 0 {
			// An error is the stream's end.
			_, err := io.Copy(io.Discard, c.r.Body)
			return nil, err
		}
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(c.r.Body, maxEvent+1))
	if err == nil && len(body) > maxEvent {
		err = errEvent
	}
	return body, err
}

// judge asks what becomes of the request, and waits.
func (c *call) judge() error {
	set := c.server.faults.Load()
	delay, status := c.r.Header.Get(marker.DelayHeader), c.r.Header.Get(marker.StatusHeader)
	if !c.health && set.Quiet() && delay == "" && status == "" {
		return nil
	}
	q := inquiry{delay: []byte(delay), status: []byte(status), read: time.Now()}
	q.Query = fault.Query{
		Path: []byte(c.r.URL.Path), Host: []byte(c.r.Host), Route: []byte(c.route),
		Health: c.health, Kinds: fault.Waits | fault.Answers,
	}
	if c.health {
		c.status = set.HealthStatus()
	}
	var err error
	c.verdict, err = c.server.judge(&q, c.r.Context().Done())
	c.read = q.read
	if errors.Is(err, errGone) {
		panic(http.ErrAbortHandler)
	}
	return err
}

// answer does what the verdict says.
func (c *call) answer(body []byte) {
	v := &c.verdict
	switch v.Kind {
	case fault.None, fault.TrickleKind, fault.StatusKind:
	default:
		c.tally(0)
		c.wrong()
		return
	}
	size, err := c.size()
	if err != nil {
		c.bad(err)
		return
	}
	switch {
	case v.Kind == fault.StatusKind:
		c.status = v.Code
		if v.RetryAfter != "" {
			c.w.Header().Set("Retry-After", v.RetryAfter)
		}
	case !c.health:
		if err := c.receive(body); err != nil {
			c.bad(err)
			return
		}
	}
	c.tally(c.status)
	c.head()
	if size > 0 && !bodiless(c.status) {
		c.w.Header()["Content-Length"] = []string{strconv.Itoa(size)}
		c.w.WriteHeader(c.status)
		c.body(size)
		return
	}
	c.w.WriteHeader(c.status)
}

// head sets the fields that every response carries, and so ends the wait. The
// names are in lower case already, which spares the server the conversion.
func (c *call) head() {
	h := c.w.Header()
	h["Date"] = nil // none
	h["Content-Type"] = c.text
	h["gatemark-pod"] = c.pod
	h["gatemark-instance"] = c.instance
	if c.route != "" {
		h["gatemark-route"] = c.r.Header[marker.RouteHeader][:1]
	}
	if generation := c.r.Header[marker.GenerationHeader]; len(generation) > 0 {
		h["gatemark-generation"] = generation[:1]
	}
	if waited := c.server.waited(&c.verdict, c.read); waited > 0 {
		h["gatemark-delay-applied"] = []string{strconv.FormatInt(int64(waited), 10)}
	}
}

// body writes n bytes, slowly where the verdict says so.
func (c *call) body(n int) {
	if c.r.Method == http.MethodHead {
		return
	}
	v := &c.verdict
	piece, due := len(page)-phrase, time.Now()
	if v.Kind == fault.TrickleKind {
		piece = min(piece, v.Bytes)
		c.flush()
	}
	for sent := 0; sent < n; {
		if v.Kind == fault.TrickleKind {
			due = due.Add(v.Interval)
			if !c.server.clock.Wait(due, c.r.Context().Done()) {
				panic(http.ErrAbortHandler)
			}
		}
		part := page[sent%phrase:][:min(n-sent, piece)]
		if _, err := c.w.Write(part); err != nil {
			panic(http.ErrAbortHandler) // the stream has ended
		}
		sent += len(part)
		if v.Kind == fault.TrickleKind {
			c.flush()
		}
	}
}

func (c *call) flush() { c.w.(http.Flusher).Flush() }

// size is the body that the request asks for, in bytes.
func (c *call) size() (int, error) {
	var r request
	if value := c.r.Header.Get(marker.SizeHeader); value != "" {
		if err := r.setSize([]byte(value)); err != nil {
			return 0, err
		}
	} else if strings.Contains(c.r.URL.RawQuery, "size=") {
		if err := r.query([]byte("?" + c.r.URL.RawQuery)); err != nil {
			return 0, err
		}
	}
	return r.size, nil
}

// bad answers a request that asks for something impossible.
func (c *call) bad(problem error) {
	c.status = http.StatusBadRequest
	c.tally(c.status)
	c.head()
	c.w.WriteHeader(c.status)
	_, _ = io.WriteString(c.w, problem.Error()+"\n") // an error is the stream's end
}

// wrong answers in a way that no response should go.
func (c *call) wrong() {
	if !c.verdict.Middle && c.verdict.Kind != fault.GarbageKind {
		c.server.waited(&c.verdict, c.read) // there is no head to tell it in
	}
	switch c.verdict.Kind {
	case fault.ResetKind:
		if c.verdict.Middle {
			c.short()
		}
	case fault.CloseKind:
		c.wire.Close()
	case fault.HangKind:
		<-c.r.Context().Done()
	case fault.GarbageKind:
		// A handler that ends in order makes the body complete, with fewer
		// bytes than it promised.
		c.short()
		return
	}
	panic(http.ErrAbortHandler) // resets the stream
}

// short writes half of what it promises.
func (c *call) short() {
	c.head()
	c.w.Header()["Content-Length"] = []string{strconv.Itoa(half)}
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(page[:half/2]) // an error is the stream's end
	c.flush()
}

// tally counts the request.
func (c *call) tally(status int) {
	if c.health {
		c.server.health.count(c.wire.RemoteAddr(), c.r.UserAgent(), status)
		return
	}
	t := c.wire.count.Load()
	if t == nil || t.status != status || t.route != c.route {
		t = c.server.counters.find([]byte(c.route), status)
		c.wire.count.Store(t)
	}
	t.n.Add(1)
}

// receive takes the request as a CloudEvent, where it is one.
func (c *call) receive(body []byte) error {
	h := c.r.Header
	structured := body != nil
	if !structured && len(h["Ce-Specversion"]) == 0 {
		return nil
	}
	var e events.Event
	var err error
	if structured {
		err = new(events.Decoder).Decode(body, &e)
	} else {
		e.ID, e.Source = []byte(h.Get("Ce-Id")), []byte(h.Get("Ce-Source"))
		e.Type, e.Specversion = []byte(h.Get("Ce-Type")), []byte(h.Get("Ce-Specversion"))
		err = e.Check()
	}
	if err != nil {
		c.server.events.Malformed()
		return err
	}
	// Its requests are served at the same time: none of them owns what the
	// connection remembers.
	c.server.events.Receive(&e, structured, new(events.Recent))
	c.status = c.server.options.EventStatus
	return nil
}
