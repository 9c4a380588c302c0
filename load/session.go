package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"syscall"

	"github.com/gatemark/gatemark/marker"
)

// A Session is the client's side of one connection for somebody who has a
// socket and a loop of its own: bytes go in, and bytes to be sent come out. It
// carries one request at a time, always the same, over one socket after the
// other.
type Session struct {
	request *Request
	config  *tls.Config // nil without TLS
	codec   codec

	fresh    bool // nothing was said on this connection yet
	secure   *secure
	secured  bool
	in, out  []byte
	exchange exchange
	waiting  bool // for the answer
	answer   Answer
	failure  error
	room     []byte
}

// An Answer is what came of a request.
type Answer struct {
	// Status is that of HTTP. A gRPC status is told as the status of HTTP that
	// clients take for it: 404 for a method that nobody serves, 503 for a
	// service that is not available.
	Status int
	Marker marker.Fields
}

// errStream is a request that was given up while its connection goes on.
var errStream = fmt.Errorf("the stream was reset: %w", syscall.ECONNRESET)

// NewSession makes a session for the one request of a target, with HTTP/1.1,
// HTTP/2 or gRPC; over TLS, by config, where the target's scheme is https. The
// name that the handshake asks for is the target's host.
func NewSession(t Target, p Protocol, config *tls.Config) (*Session, error) {
	if p == WebSocket {
		return nil, fmt.Errorf("a session does not speak %s", p)
	}
	requests, where, err := t.requests(p)
	if err != nil {
		return nil, err
	}
	if len(requests) != 1 {
		return nil, fmt.Errorf("target %q stands for %d requests, want 1", t.URL, len(requests))
	}
	s := &Session{request: requests[0]}
	s.request.render()
	if where[0].secure {
		s.config = config.Clone()
		s.config.ServerName, s.config.NextProtos = where[0].serverName, alpn[p]
		s.room = make([]byte, 16<<10)
	}
	switch p {
	case GRPC:
		s.codec = newGRPC(s, 1)
	case HTTP2:
		s.codec = newHTTP2(s, 1)
	default:
		s.codec = newHTTP1(s, nil)
	}
	s.Open()
	return s, nil
}

// Turn makes another target's request the one to be made; the name that a
// handshake asked for stays as it is.
func (s *Session) Turn(t Target, p Protocol) error {
	requests, _, err := t.requests(p)
	if err != nil {
		return err
	}
	s.request = requests[0]
	s.request.render()
	return nil
}

// Open begins anew, for another socket.
func (s *Session) Open() {
	s.Close()
	s.fresh, s.secured, s.waiting, s.failure = true, false, false, nil
	s.in, s.out = s.in[:0], s.out[:0]
}

// Close gives up what a handshake holds.
func (s *Session) Close() {
	if s.secure != nil {
		s.secure.abandon()
		s.secure = nil
	}
}

// Ask returns the bytes to be sent for another request; over TLS on a new
// connection, those of its handshake, and the request follows from Receive. They
// are the session's again with its next call.
func (s *Session) Ask() ([]byte, error) {
	s.out, s.waiting, s.failure = s.out[:0], true, nil
	s.exchange, s.answer.Status = exchange{request: s.request}, 0
	switch {
	case !s.fresh:
		s.ask(nil)
	case s.config == nil:
		s.fresh = false
		s.ask(s.codec.greet(nil))
	default:
		s.fresh = false
		s.secure = newSecure(&s.out, nil, s.room, s.config)
		s.fail(s.shake())
	}
	return s.out, s.failure
}

// ask says the request, behind what else is to be said.
func (s *Session) ask(before []byte) { s.say(s.codec.request(before, &s.exchange)) }

func (s *Session) say(plain []byte) {
	if s.secure == nil {
		s.out = append(s.out, plain...)
	} else if len(plain) > 0 {
		s.secure.plain = plain
		s.fail(s.secure.write())
	}
}

func (s *Session) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
}

// shake goes on with the handshake; the request follows when it is done.
func (s *Session) shake() error {
	done, err := s.secure.handshake()
	if err != nil {
		return err
	}
	if done {
		s.secured = true
		s.ask(s.codec.greet(nil))
	}
	return s.failure
}

// Receive takes the next bytes that came, and returns those to be sent in
// return, until its next call, and whether the answer is complete; there may be
// both. An error ends the connection.
func (s *Session) Receive(data []byte) (out []byte, done bool, err error) {
	s.out = s.out[:0]
	if s.config == nil {
		s.fail(s.read(data))
		return s.out, s.done(), s.failure
	}
	s.secure.take(data)
	if !s.secured {
		if err := s.shake(); err != nil || !s.secured {
			return s.out, false, err
		}
	}
	for s.failure == nil {
		plain, err := s.secure.read()
		if err != nil {
			if !errors.Is(err, errDry) {
				s.fail(err)
			}
			break
		}
		s.fail(s.read(plain))
	}
	return s.out, s.done(), s.failure
}

// done reports whether the answer has come. What went wrong behind it is no
// matter of the request.
func (s *Session) done() bool { return !s.waiting && s.answer.Status != 0 }

// read hands plain bytes to the codec, behind those that it has left.
func (s *Session) read(data []byte) error {
	s.in = append(s.in, data...)
	used, reply, err := s.codec.receive(s.in, len(s.in) >= maxCarry, nil)
	s.in = s.in[:copy(s.in, s.in[used:])]
	s.say(reply)
	return err
}

// End tells that the other side has closed, and returns whether that completes
// the answer.
func (s *Session) End() bool {
	if s.waiting && (s.config == nil || s.secured) {
		s.codec.ended()
	}
	return s.done()
}

// Secured reports whether requests can be sent: TLS, where it is spoken, is
// agreed on.
func (s *Session) Secured() bool { return s.config == nil || s.secured }

// Reusable reports whether the connection can carry another request.
func (s *Session) Reusable() bool { return s.codec.room() > 0 }

// Answer is the last one.
func (s *Session) Answer() *Answer { return &s.answer }

// answered implements owner.
func (s *Session) answered(_ *exchange, a *answer) {
	s.waiting = false
	s.answer.Status = httpStatus(a.status, a.grpc)
	s.answer.Marker.Copy(a.marker)
}

// failed implements owner.
func (s *Session) failed(_ *exchange, class Class) {
	s.waiting, s.answer.Status = false, 0
	if class == Malformed {
		s.fail(&MalformedError{"answer"})
		return
	}
	s.fail(errStream)
}

var _ owner = (*Session)(nil)
