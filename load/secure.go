package load

import (
	"crypto/tls"
	"io"
	"iter"
	"net"
	"time"
)

// secure is TLS on one connection. crypto/tls believes that it has a blocking
// connection; it is fed from the event loop. The handshake runs as a coroutine
// that is resumed when more bytes have come. Reading afterwards needs none: to
// a Read that would block the feed answers with a temporary error, which
// crypto/tls hands through and forgets.
type secure struct {
	conn  *tls.Conn
	out   *[]byte // takes what is to be sent
	feed  []byte  // came, and crypto/tls has not read it
	plain []byte  // scratch: what is to be sealed
	room  []byte  // scratch: what was opened

	blocking bool // the handshake's reads wait
	yield    func(struct{}) bool
	next     func() (struct{}, bool)
	stop     func()
	result   error
}

// errDry is returned by a read that has to wait for more bytes.
var errDry = dry{}

// dry is a temporary net.Error: crypto/tls keeps no other kind of error to
// itself.
type dry struct{}

func (dry) Error() string   { return "no bytes yet" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// newSecure begins TLS. Its feed and its room are buffers to work with.
func newSecure(out *[]byte, feed, room []byte, config *tls.Config) *secure {
	s := &secure{out: out, feed: feed, room: room}
	s.conn = tls.Client((*feeder)(s), config)
	s.blocking = true
	s.next, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.yield = yield
		s.result = s.conn.Handshake()
	})
	return s
}

// handshake goes on until it needs more bytes, or is done.
func (s *secure) handshake() (done bool, err error) {
	if _, more := s.next(); more {
		return false, nil
	}
	s.blocking = false
	return true, s.result
}

// abandon ends a handshake that will not go on.
func (s *secure) abandon() {
	if s.blocking {
		s.stop()
	}
}

func (s *secure) resumed() bool { return s.conn.ConnectionState().DidResume }

// serial is the serial number of the other side's certificate.
func (s *secure) serial() string {
	if all := s.conn.ConnectionState().PeerCertificates; len(all) > 0 {
		return all[0].SerialNumber.Text(16)
	}
	return ""
}

// take keeps bytes for crypto/tls.
func (s *secure) take(data []byte) { s.feed = append(s.feed, data...) }

// read returns opened bytes, until the next read. It returns errDry when there
// are none.
func (s *secure) read() ([]byte, error) {
	n, err := s.conn.Read(s.room)
	if n > 0 {
		return s.room[:n], nil
	}
	return nil, err
}

// write seals what is in plain.
func (s *secure) write() error {
	_, err := s.conn.Write(s.plain)
	s.plain = s.plain[:0]
	return err
}

// feeder is the connection that crypto/tls sees.
type feeder secure

// Read implements net.Conn.
func (f *feeder) Read(p []byte) (int, error) {
	for len(f.feed) == 0 {
		if !f.blocking {
			return 0, errDry
		}
		if !f.yield(struct{}{}) {
			return 0, io.ErrUnexpectedEOF // abandoned
		}
	}
	n := copy(p, f.feed)
	f.feed = f.feed[:copy(f.feed, f.feed[n:])]
	return n, nil
}

// Write implements net.Conn.
func (f *feeder) Write(p []byte) (int, error) {
	*f.out = append(*f.out, p...)
	return len(p), nil
}

func (f *feeder) Close() error                     { return nil }
func (f *feeder) LocalAddr() net.Addr              { return nil }
func (f *feeder) RemoteAddr() net.Addr             { return nil }
func (f *feeder) SetDeadline(time.Time) error      { return nil }
func (f *feeder) SetReadDeadline(time.Time) error  { return nil }
func (f *feeder) SetWriteDeadline(time.Time) error { return nil }

var _ net.Error = errDry
