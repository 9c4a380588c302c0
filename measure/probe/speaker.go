package probe

import (
	"crypto/tls"
	"fmt"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// A speaker is our side of one connection: it knows what to say, and when an
// answer is complete.
type speaker interface {
	// turn makes another question the one that is asked.
	turn(q *Question)
	// open forgets what was said, for another socket.
	open()
	// ask returns what is to be sent for another probe.
	ask() ([]byte, error)
	// hear takes what has come, and returns how much of it was used, what is to
	// be sent in return, and whether the answer is complete. What was not used
	// comes again with more behind it; full says that there is no room for more.
	hear(data []byte, full bool) (used int, reply []byte, done bool, err error)
	// end tells that the other side has closed, and reports whether that
	// completes the answer.
	end() bool
	// answer is the last one.
	answer() (status int, origin *marker.Fields)
	// reusable reports whether the connection can carry another probe.
	reusable() bool
	// secured is false until TLS is agreed on, where it is spoken.
	secured() bool
	// close gives up what is held for the socket.
	close()
}

// A manner is how a question is asked. Connections are kept from one question to
// the next where both are asked in the same one.
type manner struct {
	protocol load.Protocol
	tls      bool
	name     string // that TLS's handshake asks for
}

func (q *Question) manner() manner {
	m := manner{protocol: q.Protocol, tls: q.TLS}
	if q.TLS {
		m.name = q.Host
	}
	return m
}

// speaker returns an error for a question that cannot be asked.
func (q *Question) speaker() (speaker, error) {
	if q.Protocol == load.HTTP1 && !q.TLS {
		s := &plainHTTP{}
		s.turn(q)
		return s, nil
	}
	session, err := load.NewSession(q.target(), q.Protocol, tlsConfig)
	if err != nil {
		return nil, err
	}
	return &spoken{session}, nil
}

// tlsConfig takes any certificate: what answers is known by its marker. One
// curve, and not the one that is safe from quantum computers, halves the price
// of a handshake.
var tlsConfig = &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}}

// target is the question as the load engine has it.
func (q *Question) target() load.Target {
	t := load.Target{URL: "http://" + q.Host + q.Path, Method: q.Method}
	if q.TLS {
		t.URL = "https://" + q.Host + q.Path
	}
	for _, field := range q.Header {
		t.Header = append(t.Header, load.Field{Name: field[0], Value: field[1]})
	}
	return t
}

// plainHTTP is HTTP/1.1 without TLS, which allocates nothing.
type plainHTTP struct {
	request  []byte
	head     bool
	asked    bool
	response load.Response
}

func (s *plainHTTP) turn(q *Question) { s.request, s.head = q.request(), q.Method == "HEAD" }
func (s *plainHTTP) open()            { s.asked = false }
func (s *plainHTTP) close()           {}
func (s *plainHTTP) secured() bool    { return true }
func (s *plainHTTP) end() bool        { return s.response.EOF() }
func (s *plainHTTP) reusable() bool   { return !s.response.Close }

func (s *plainHTTP) ask() ([]byte, error) {
	s.asked = true
	s.response.Reset(s.head)
	return s.request, nil
}

func (s *plainHTTP) hear(data []byte, full bool) (int, []byte, bool, error) {
	if !s.asked {
		return 0, nil, false, load.ErrUnasked
	}
	used, done, err := s.response.Parse(data, full)
	if done && used < len(data) {
		err = load.ErrUnasked
	}
	s.asked = !done
	return used, nil, done, err
}

func (s *plainHTTP) answer() (int, *marker.Fields) { return s.response.Status, &s.response.Marker }

// spoken is everything else.
type spoken struct{ *load.Session }

func (s *spoken) turn(q *Question) {
	if err := s.Turn(q.target(), q.Protocol); err != nil {
		panic(fmt.Sprintf("question for %s: %v", q.Host, err)) // it was validated
	}
}

func (s *spoken) open()                { s.Open() }
func (s *spoken) close()               { s.Close() }
func (s *spoken) secured() bool        { return s.Secured() }
func (s *spoken) end() bool            { return s.End() }
func (s *spoken) reusable() bool       { return s.Reusable() }
func (s *spoken) ask() ([]byte, error) { return s.Ask() }

func (s *spoken) hear(data []byte, _ bool) (int, []byte, bool, error) {
	reply, done, err := s.Receive(data)
	return len(data), reply, done, err
}

func (s *spoken) answer() (int, *marker.Fields) { a := s.Answer(); return a.Status, &a.Marker }
