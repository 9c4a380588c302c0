package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/marker"
)

// A Target is where probes go.
type Target struct {
	// Name is what the target is called in results, such as the replica's pod.
	Name    string
	Address netip.AddrPort
}

// A Question is what is asked of every target, and how the old and the new
// answer are told apart.
type Question struct {
	Host string
	// Path is "/" where empty.
	Path string
	// Method is GET where empty, and POST with gRPC. A probe has no body, and a
	// gRPC call an empty message.
	Method string
	// Protocol is HTTP/1.1 where empty, or gRPC, whose Path names a service and
	// a method.
	Protocol load.Protocol
	// TLS is spoken first, and Host is the name that its handshake asks for. Who
	// is at the other end is told by the answer, not by the certificate.
	TLS bool
	// Header holds further fields, as name and value.
	Header [][2]string
	// Old is the state before the change.
	Old State
	// New is the state that is waited for.
	New State
	// Mixed is the side of the change on which both states answer.
	Mixed Mixed
}

// Mixed says on which side of a change the old and the new state answer side
// by side, as the endpoints of one backend do.
type Mixed uint8

const (
	// MixedNever: the old state before, the new one after.
	MixedNever Mixed = iota
	// MixedBefore: one of several goes. The change is in force when the old
	// state answers no more.
	MixedBefore
	// MixedAfter: one joins others. The change is in force with the first answer
	// of the new state, and old answers contradict it no more.
	MixedAfter
)

// A State describes the answers that show it. A complete answer shows it when
// its status is Status, and its marker is Marker in the fields that Marker has.
type State struct {
	Status int
	Marker marker.Marker
	// Refused says that a refused connection shows the state too: some data
	// planes open a port only with the first route behind it.
	Refused bool
	// Closed says that a connection which ends before TLS is agreed on shows the
	// state: what becomes of one that no route takes. Its Status may be 0.
	Closed bool
}

// Serves is the state in which a route answers: status 200 and its marker.
func Serves(m marker.Marker) State { return State{Status: 200, Marker: m} }

// Answers is the state in which every answer has a status, such as 404 where
// there is no route.
func Answers(status int) State { return State{Status: status} }

// Closes is the state in which no connection for TLS is taken.
func Closes() State { return State{Closed: true} }

// String is for people: "status 200, route a generation 2".
func (s State) String() string {
	text := fmt.Sprintf("status %d", s.Status)
	if s.Closed {
		text = "connection closed"
	}
	if s.Marker != (marker.Marker{}) {
		text += ", " + s.Marker.String()
	}
	if s.Refused {
		text += ", or refused"
	}
	return text
}

func (s *State) shows(status int, origin *marker.Fields) bool {
	return status == s.Status && origin.Match(&s.Marker)
}

// classify says what a complete answer shows.
func (q *Question) classify(status int, origin *marker.Fields) (Verdict, load.Class) {
	switch {
	case q.New.shows(status, origin):
		return Right, load.OK
	case q.Old.shows(status, origin):
		return Old, load.OK
	case status == q.New.Status, status == q.Old.Status, status/100 == 2 && !origin.Empty():
		return Wrong, load.WrongMarker
	}
	return Wrong, load.ClassOfStatus(status)
}

// classifyFailure says what a probe without a complete answer shows; secured,
// whether TLS was agreed on, where it is spoken.
func (q *Question) classifyFailure(class load.Class, secured bool) Verdict {
	closed := !secured && (class == load.EOF || class == load.Reset || class == load.TLS)
	switch {
	case closed && q.New.Closed:
		return Right
	case closed && q.Old.Closed:
		return Old
	case class == load.Refused && q.New.Refused:
		return Right
	case class == load.Refused && q.Old.Refused:
		return Old
	case class.Ours():
		return Ours
	}
	return Wrong
}

func (q *Question) setDefaults() {
	if q.Path == "" {
		q.Path = "/"
	}
	if q.Protocol == "" {
		q.Protocol = load.HTTP1
	}
	if q.Method == "" {
		q.Method = "GET"
		if q.Protocol == load.GRPC {
			q.Method = "POST"
		}
	}
}

// validate returns every problem.
func (q *Question) validate() error {
	var problems []error
	if q.Host == "" {
		problems = append(problems, errors.New("question without a host"))
	}
	if !strings.HasPrefix(q.Path, "/") {
		problems = append(problems, fmt.Errorf("path %q does not begin with a slash", q.Path))
	}
	texts := []string{q.Method, q.Host, q.Path}
	for _, field := range q.Header {
		if field[0] == "" {
			problems = append(problems, errors.New("header field without a name"))
		}
		texts = append(texts, field[0])
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			problems = append(problems, fmt.Errorf("%q holds a space or control character", text))
		}
	}
	for _, field := range q.Header {
		if strings.ContainsAny(field[1], "\r\n\x00") {
			problems = append(problems, fmt.Errorf("header field %s holds a line break", field[0]))
		}
	}
	for name, s := range map[string]State{"old": q.Old, "new": q.New} {
		switch {
		case s.Closed && !q.TLS:
			problems = append(problems, fmt.Errorf("the %s state is a connection that is closed before TLS, which is not spoken", name))
		case (s.Status < 200 || s.Status > 999) && !(s.Closed && s.Status == 0):
			problems = append(problems, fmt.Errorf("the %s state has status %d, want 200 to 999", name, s.Status))
		}
	}
	if q.overlap() {
		problems = append(problems, fmt.Errorf("an answer can show both the old state (%s) and the new one (%s)", q.Old, q.New))
	}
	if q.Protocol != load.HTTP1 && q.Protocol != load.GRPC {
		problems = append(problems, fmt.Errorf("protocol %q, want %s or %s", q.Protocol, load.HTTP1, load.GRPC))
	}
	return errors.Join(problems...)
}

// overlap reports whether one answer could show both states.
func (q *Question) overlap() bool {
	if q.Old.Refused && q.New.Refused || q.Old.Closed && q.New.Closed {
		return true
	}
	if q.Old.Status != q.New.Status {
		return false
	}
	a, b := q.Old.Marker, q.New.Marker
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	routes := differ(a.Route, b.Route) || a.Route != "" && b.Route != "" && a.Generation != b.Generation
	return !routes && !differ(a.Pod, b.Pod) && !differ(a.Instance, b.Instance)
}

// request is the question on the wire.
func (q *Question) request() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: gatemark\r\n", q.Method, q.Path, q.Host)
	for _, field := range q.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", field[0], field[1])
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}
