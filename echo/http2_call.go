package echo

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/echo/fault"
)

// A call is one request on HTTP/2.
type call struct {
	*http2Conn
	id       uint32
	trailers bool // its header is complete
	complete bool // all of it has been read
	stray    bool // nobody waits for it

	method, target, host, agent, contentType string
	route, generation, delay, wanted, size   string // wanted is a status
	encoding                                 string // of gRPC's messages
	event                                    struct{ specversion, id, source, kind string }
	body                                     []byte
	taken                                    int64 // bytes of body since its window grew

	health  bool
	verdict fault.Verdict
	read    time.Time // where the verdict waits
	code    int

	// Guarded by the connection's lock.
	window   int64
	reserved int64         // of the windows, for an answer that cannot wait
	left     bool          // the client does not wait any more
	gone     chan struct{} // closed then, nil for a call that waits for nothing
}

// field takes a header field.
func (k *call) field(name, value string) {
	if k.trailers {
		return
	}
	switch name {
	case ":method":
		k.method = value
	case ":path":
		k.target = value
	case ":authority":
		k.host = value
	case "host":
		if k.host == "" {
			k.host = value
		}
	case "user-agent":
		k.agent = value
	case "content-type":
		k.contentType = value
	case "grpc-encoding":
		k.encoding = value
	case "gatemark-route":
		k.route = value
	case "gatemark-generation":
		k.generation = value
	case "gatemark-delay":
		k.delay = value
	case "gatemark-status":
		k.wanted = value
	case "gatemark-size":
		k.size = value
	case "ce-specversion":
		k.event.specversion = value
	case "ce-id":
		k.event.id = value
	case "ce-source":
		k.event.source = value
	case "ce-type":
		k.event.kind = value
	}
}

// keeps reports whether the body is needed.
func (k *call) keeps() bool {
	return k.contentType != "" && (isGRPC(k.contentType) || isStructured([]byte(k.contentType)))
}

// leave says that the client does not wait. The connection's lock is held.
func (k *call) leave() {
	if !k.left {
		k.left = true
		delete(k.calls, k.id)
		k.http2Conn.window += k.reserved
		if k.gone != nil {
			close(k.gone)
		}
		k.room.Broadcast()
	}
}

// dispatch answers the request, which is complete: at once where nothing holds
// the answer up, so that no goroutine is needed.
func (k *call) dispatch() {
	if k.complete {
		return // its client does not know the protocol
	}
	k.complete = true
	s := k.server
	s.counters.flight.enter()
	k.wire.requests.Add(1)
	k.code = http.StatusOK
	set := s.faults.Load()
	isCall := isGRPC(k.contentType)
	if isCall {
		k.health = strings.HasPrefix(k.target, healthService)
	} else {
		k.health = set.Health([]byte(k.target))
	}
	if set.Quiet() && !k.health && k.delay == "" && k.wanted == "" && k.reserve(isCall) {
		k.serve(isCall)
		s.counters.flight.leave()
		return
	}
	k.mu.Lock()
	k.gone = make(chan struct{})
	if k.left {
		close(k.gone)
	}
	k.mu.Unlock()
	k.slow.Go(func() {
		defer s.counters.flight.leave()
		k.serve(isCall)
		_ = k.flush() // an error shows with the next read
	})
}

// atOnce bounds the bodies that are sent by the goroutine that reads.
const atOnce = 64 << 10

// reserve takes what the response's body needs from the windows, so that it can
// be sent without waiting: the goroutine that reads must not wait for what only
// it can read.
func (k *call) reserve(isCall bool) bool {
	n := int64(len(k.body))
	if !isCall {
		size, err := k.asked()
		if n = int64(size); err != nil {
			n = int64(len(errSize.Error()) + 1)
		}
	}
	if n == 0 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n > min(k.window, k.http2Conn.window, atOnce) {
		return false
	}
	k.window -= n
	k.http2Conn.window -= n
	k.reserved = n
	return true
}

func (k *call) serve(isCall bool) {
	if isCall {
		k.gRPC()
		return
	}
	if err := k.judge(); errors.Is(err, errGone) {
		return
	} else if err != nil {
		k.bad(err)
		return
	}
	k.answer()
}

// judge asks what becomes of the request, and waits.
func (k *call) judge() error {
	if k.gone == nil {
		return nil // dispatch has looked, and found nothing
	}
	set := k.server.faults.Load()
	path, _, _ := strings.Cut(k.target, "?")
	q := inquiry{delay: []byte(k.delay), status: []byte(k.wanted), read: time.Now()}
	q.Query = fault.Query{
		Path: []byte(path), Host: []byte(k.host), Route: []byte(k.route), Health: k.health, Kinds: fault.Waits | fault.Answers,
	}
	if k.health {
		k.code = set.HealthStatus()
	}
	var err error
	k.verdict, err = k.server.judge(&q, k.gone)
	k.read = q.read
	return err
}

// answer does what the verdict says.
func (k *call) answer() {
	v := &k.verdict
	switch v.Kind {
	case fault.None, fault.TrickleKind, fault.StatusKind:
	default:
		k.tally(0)
		k.wrong()
		return
	}
	size, err := k.asked()
	switch {
	case err != nil:
	case v.Kind == fault.StatusKind:
		k.code = v.Code
	case !k.health:
		err = k.receive()
	}
	if err != nil {
		k.bad(err)
		return
	}
	k.tally(k.code)
	if bodiless(k.code) {
		size = -1
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	last := size <= 0 || k.method == http.MethodHead
	k.head(size, last)
	if !last {
		k.sendPage(size)
	}
	k.leave()
}

// pause writes what there is and waits, without the connection's lock.
func (k *call) pause(until time.Time) bool {
	if k.flushLocked() != nil {
		return false
	}
	k.mu.Unlock()
	defer k.mu.Lock()
	return k.server.clock.Wait(until, k.gone)
}

// asked is the body that the request asks for, in bytes.
func (k *call) asked() (int, error) {
	if k.size == "" && !strings.Contains(k.target, "size=") {
		return 0, nil
	}
	var r request
	err := r.query([]byte(k.target))
	if k.size != "" {
		err = r.setSize([]byte(k.size))
	}
	return r.size, err
}

// bad answers a request that asks for something impossible.
func (k *call) bad(problem error) {
	k.code = http.StatusBadRequest
	k.tally(k.code)
	text := []byte(problem.Error() + "\n")
	k.mu.Lock()
	defer k.mu.Unlock()
	k.verdict = fault.Verdict{}
	last := k.method == http.MethodHead
	k.head(len(text), last)
	if !last {
		k.send(text, true)
	}
	k.leave()
}

// wrong answers in a way that no response should go.
func (k *call) wrong() {
	v := &k.verdict
	if !v.Middle && v.Kind != fault.GarbageKind {
		k.server.waited(v, k.read) // there is no head to tell it in
	}
	switch v.Kind {
	case fault.CloseKind:
		k.wire.Close()
		return
	case fault.HangKind:
		<-k.gone
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	garbage := v.Kind == fault.GarbageKind
	if garbage || v.Middle {
		k.code = http.StatusOK
		k.head(half, false)
		k.send(page[:half/2], garbage) // fewer bytes than it has promised
	}
	if !garbage {
		k.appendReset(k.id, http2.ErrCodeInternal)
	}
	k.leave()
}

// tally counts the request.
func (k *call) tally(status int) {
	if k.health {
		k.server.health.count(k.wire.RemoteAddr(), k.agent, status)
		return
	}
	t := k.wire.count.Load()
	if t == nil || t.status != status || t.route != k.route {
		t = k.server.counters.find([]byte(k.route), status)
		k.wire.count.Store(t)
	}
	t.n.Add(1)
}

// receive takes the request as a CloudEvent, where it is one.
func (k *call) receive() error {
	structured := isStructured([]byte(k.contentType))
	if !structured && k.event.specversion == "" {
		return nil
	}
	var e events.Event
	var err error
	if structured {
		err = new(events.Decoder).Decode(k.body, &e)
	} else {
		e = events.Event{
			Specversion: []byte(k.event.specversion), ID: []byte(k.event.id), Source: []byte(k.event.source), Type: []byte(k.event.kind),
		}
		err = e.Check()
	}
	if err != nil {
		k.server.events.Malformed()
		return err
	}
	// Requests are served at the same time: none of them owns what the
	// connection remembers.
	k.server.events.Receive(&e, structured, new(events.Recent))
	k.code = k.server.options.EventStatus
	return nil
}
