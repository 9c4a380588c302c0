package dataplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// A passage is a connection that is passed through to a backend as it is.
type passage struct {
	replica *Replica
	client  net.Conn
	asked   *query
	hello   []byte // what the client has said so far
}

var _ visit = (*passage)(nil)

func (p *passage) context() context.Context          { return context.Background() }
func (p *passage) query() *query                     { return p.asked }
func (p *passage) misdirected(*port, *listener) bool { return false }
func (p *passage) refuse(int)                        { _ = p.client.Close() } // whoever waits notices
func (p *passage) reset()                            { abort(p.client) }
func (p *passage) hold()                             { _, _ = io.Copy(io.Discard, p.client) } // until it is closed

const (
	// helloLimit bounds how long a client takes to say whom it wants.
	helloLimit = 10 * time.Second
	// dialTime bounds how long an endpoint takes to accept a connection.
	dialTime = 5 * time.Second
)

// pass serves the connections of a port until it is closed.
func (r *Replica) pass(number int32, open *connections) {
	for {
		client, err := open.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // too many files, perhaps
			continue
		}
		go func() {
			defer client.Close()
			name, hello, err := peek(client)
			if err != nil {
				return // it did not speak TLS
			}
			r.receive(&passage{r, client, &query{host: hostOf(name)}, hello}, number)
		}()
	}
}

// errSeen ends a handshake that was only begun to see for whom it is.
var errSeen = errors.New("seen")

// peek returns the name that a client asks for, which may be empty, and what
// was read of the connection.
func peek(client net.Conn) (name string, hello []byte, err error) {
	if err := client.SetReadDeadline(time.Now().Add(helloLimit)); err != nil {
		return "", nil, err
	}
	read := &overheard{Conn: client}
	err = tls.Server(read, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name = h.ServerName
		return nil, errSeen
	}}).Handshake()
	if !errors.Is(err, errSeen) {
		return "", nil, err
	}
	return name, read.said.Bytes(), client.SetReadDeadline(time.Time{})
}

// An overheard connection keeps what is read of it, and says nothing itself.
type overheard struct {
	net.Conn
	said bytes.Buffer
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.said.Write(p[:n])
	return n, err
}

func (o *overheard) Write(p []byte) (int, error) { return len(p), nil }

// apply implements visit.
func (p *passage) apply(_ *port, rule *rule) {
	to := rule.backends.next()
	if to == nil || to.backend == nil || len(to.backend.Endpoints) == 0 {
		p.refuse(http.StatusServiceUnavailable)
		return
	}
	backend, err := p.dial(attempts{replica: p.replica, rule: rule, to: to})
	if err != nil {
		p.refuse(http.StatusBadGateway)
		return
	}
	defer backend.Close()
	if _, err := backend.Write(p.hello); err != nil {
		p.refuse(http.StatusBadGateway)
		return
	}
	p.join(backend)
}

// dial tries several endpoints: nothing was sent to those that take no
// connection.
func (p *passage) dial(a attempts) (net.Conn, error) {
	for dials := 1; ; dials++ {
		endpoint := a.endpoint()
		backend, err := net.DialTimeout("tcp", endpoint.String(), dialTime)
		a.judge(endpoint, nil, err)
		if err == nil || dials >= min(dialLimit, len(a.to.backend.Endpoints)) {
			return backend, err
		}
	}
}

// join passes everything on, both ways, until both sides have ended.
func (p *passage) join(backend net.Conn) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		copyTo(backend, p.client)
	}()
	copyTo(p.client, backend)
	<-ended
}

// copyTo passes on what one side says, and its end: an end that was none is a
// reset for both.
func copyTo(to, from net.Conn) {
	if _, err := io.Copy(innermost(to), innermost(from)); err != nil {
		abort(to)
		abort(from)
		return
	}
	if half, ok := innermost(to).(*net.TCPConn); ok {
		_ = half.CloseWrite() // it may be gone already
	}
}

// abort resets a connection.
func abort(c net.Conn) {
	if plain, ok := innermost(c).(*net.TCPConn); ok {
		_ = plain.SetLinger(0) // it is closed either way
	}
	_ = c.Close()
}
