package echo

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/marker"
)

// maxHead bounds a request's line and header fields, in bytes.
const maxHead = 64 << 10

// MaxSize bounds the response body that a request may ask for, in bytes.
const MaxSize = 256 << 20

// A request is the head of one, as far as it matters here. Its slices point
// into the connection's buffer.
type request struct {
	head       bool // asks for no body
	oldVersion bool // HTTP/1.0
	close      bool
	keepAlive  bool
	expects    bool // 100-continue
	chunked    bool
	length     int64 // of its body
	size       int   // of the body that it asks for
	upgrade    bool  // to WebSocket
	structured bool  // its body is a CloudEvent

	target, host, agent []byte
	route, generation   []byte
	delay, status       []byte // that it asks for
	event               events.Event
}

// path is the target without its query.
func (r *request) path() []byte {
	path, _, _ := bytes.Cut(r.target, query)
	return path
}

// binary reports whether the header is a CloudEvent's.
func (r *request) binary() bool { return len(r.event.Specversion) > 0 }

var (
	errRequest = errors.New("malformed request")
	errSize    = errors.New("body size is not a number in range")
)

var query = []byte{'?'}

var (
	headEnd    = []byte("\r\n\r\n")
	lineEnd    = []byte("\r\n")
	sizeQuery  = []byte("size=")
	version11  = []byte("HTTP/1.1")
	version10  = []byte("HTTP/1.0")
	methodHead = []byte("HEAD")
)

// parse reads a head, without the empty line at its end.
func (r *request) parse(head []byte) error {
	*r = request{}
	line, fields, _ := bytes.Cut(head, lineEnd)
	method, rest, ok := bytes.Cut(line, space)
	target, version, ok2 := bytes.Cut(rest, space)
	if !ok || !ok2 || len(method) == 0 || len(target) == 0 {
		return errRequest
	}
	r.head = bytes.Equal(method, methodHead)
	switch {
	case bytes.Equal(version, version11):
	case bytes.Equal(version, version10):
		r.oldVersion = true
	default:
		return errRequest
	}
	r.target = target
	sizeErr := r.query(target)
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, lineEnd)
		if err := r.field(line); errors.Is(err, errSize) {
			sizeErr = err // the rest must still be read: how long is the body?
		} else if err != nil {
			return err
		}
	}
	return sizeErr
}

var space = []byte{' '}

// query looks for "size=" among the target's parameters.
func (r *request) query(target []byte) error {
	mark := bytes.IndexByte(target, '?')
	if mark < 0 {
		return nil
	}
	for parameters := target[mark+1:]; len(parameters) > 0; {
		var p []byte
		p, parameters, _ = bytes.Cut(parameters, []byte{'&'})
		if value, ok := bytes.CutPrefix(p, sizeQuery); ok {
			return r.setSize(value)
		}
	}
	return nil
}

func (r *request) setSize(value []byte) error {
	n, err := strconv.ParseUint(string(value), 10, 63)
	if err != nil || n > MaxSize {
		return errSize
	}
	r.size = int(n)
	return nil
}

func (r *request) field(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return errRequest
	}
	name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
	// Few fields matter; their lengths tell most of the others apart.
	switch len(name) {
	case len("Host"):
		if is(name, "Host") {
			r.host = value
		}
	case len("Expect"):
		r.expects = r.expects || is(name, "Expect") && is(value, "100-continue")
	case len("Upgrade"):
		r.upgrade = r.upgrade || is(name, "Upgrade") && is(value, "websocket")
	case len("Connection"): // and User-Agent
		if is(name, "Connection") {
			r.close = r.close || is(value, "close")
			r.keepAlive = r.keepAlive || is(value, "keep-alive")
		} else if is(name, "User-Agent") {
			r.agent = value
		}
	case len("Content-Type"):
		if is(name, "Content-Type") {
			r.structured = isStructured(value)
		}
	case len(marker.RouteHeader): // and Content-Length, and a delay's
		if is(name, marker.RouteHeader) {
			r.route = value
		} else if is(name, marker.DelayHeader) {
			r.delay = value
		} else if is(name, "Content-Length") {
			n, err := strconv.ParseUint(string(value), 10, 62)
			if err != nil {
				return errRequest
			}
			r.length = int64(n)
		}
	case len(marker.GenerationHeader):
		if is(name, marker.GenerationHeader) {
			r.generation = value
		}
	case len(marker.SizeHeader):
		if is(name, marker.SizeHeader) {
			return r.setSize(value)
		}
	case len(marker.StatusHeader):
		if is(name, marker.StatusHeader) {
			r.status = value
		}
	case len("Transfer-Encoding"):
		r.chunked = r.chunked || is(name, "Transfer-Encoding")
	}
	if len(name) > 3 && name[2] == '-' && name[0]|0x20 == 'c' && name[1]|0x20 == 'e' {
		r.attribute(name[3:], value)
	}
	return nil
}

// attribute takes a CloudEvent's from a header field.
func (r *request) attribute(name, value []byte) {
	switch {
	case is(name, "id"):
		r.event.ID = value
	case is(name, "source"):
		r.event.Source = value
	case is(name, "type"):
		r.event.Type = value
	case is(name, "specversion"):
		r.event.Specversion = value
	}
}

const structuredType = "application/cloudevents+json"

func isStructured(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte{';'})
	return is(bytes.TrimSpace(kind), structuredType)
}

func is(text []byte, want string) bool {
	return len(text) == len(want) && bytes.EqualFold(text, []byte(want))
}
