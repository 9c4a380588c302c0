package load

import (
	"bytes"
	"math"

	"github.com/gatemark/gatemark/marker"
)

// A MalformedError is an answer that breaks the protocol or a limit.
type MalformedError struct{ reason string }

// Error says what is wrong with the answer.
func (e *MalformedError) Error() string { return "malformed response: " + e.reason }

// All of them exist before the first response, so that a broken server does
// not make the hot path allocate.
var (
	errStatusLine    = &MalformedError{"status line"}
	errLineTooLong   = &MalformedError{"line longer than the buffer"}
	errHeadTooLong   = &MalformedError{"head over its limit"}
	errFieldName     = &MalformedError{"header field name"}
	errFieldValue    = &MalformedError{"header field value"}
	errContentLength = &MalformedError{"content-length"}
	errTransfer      = &MalformedError{"transfer-encoding"}
	errFraming       = &MalformedError{"both content-length and transfer-encoding"}
	errChunkSize     = &MalformedError{"chunk size"}
	errChunkEnd      = &MalformedError{"chunk without its end"}
	errInformational = &MalformedError{"too many informational responses"}
)

// ErrUnasked is bytes on a connection that no request is waiting for.
var ErrUnasked = &MalformedError{"bytes that no request asked for"}

// MaxHead is the size, in bytes, up to which the head of a response is read:
// status line and header fields, informational responses and trailers
// included. It is far above what any gateway sends.
const MaxHead = 256 << 10

// maxInformational is how many 1xx responses may come before the final one.
const maxInformational = 16

// A Response is an incremental HTTP/1.1 response parser and what it has found.
// It does not allocate, and its zero value is ready to use.
//
// It is stricter than net/http where a lenient reading would hide an
// implementation's fault or could be read in two ways: it refuses folded
// lines, spaces before the colon, content-length together with
// transfer-encoding, transfer-encoding in HTTP/1.0, and differing
// content-lengths. What it accepts, net/http accepts, and with the same
// meaning.
type Response struct {
	// Status is that of the final response.
	Status int
	// Body is the number of body bytes, without chunk framing.
	Body int64
	// Informational counts the 1xx responses that came before.
	Informational int
	// Close reports that the connection cannot carry another request.
	Close bool
	// Marker is what the response tells about its origin.
	Marker marker.Fields
	// Delay is what the server says that it waited before it answered, in
	// nanoseconds (marker.AppliedHeader), or -1.
	Delay int64

	state      state
	head       int   // bytes of head so far
	length     int64 // declared content-length, or -1
	digits     int   // how many digits declared it
	left       int64 // bytes left in the body or chunk
	chunked    bool
	noBody     bool // answer to HEAD
	keepAlive  bool // connection: keep-alive seen
	oldVersion bool // HTTP/1.0

	heads *lastHead // nil for none
}

type state uint8

const (
	atStatus state = iota
	atField
	atBody
	atBodyUntilClose
	atChunkSize
	atChunk
	atChunkEnd
	atTrailer
	atEnd
)

// Reset prepares for the answer to another request. The answer to a HEAD
// request has no body, whatever it says.
func (r *Response) Reset(head bool) {
	fields := r.Marker
	fields.Reset()
	*r = Response{Marker: fields, Delay: -1, noBody: head, heads: r.heads}
}

// Begun reports whether any part of a response has come.
func (r *Response) Begun() bool { return r.head > 0 || r.state != atStatus }

// Parse takes the next bytes of the connection and returns how many of them it
// used, and whether the response is complete. Bytes that it did not use must
// come again with more behind them: they are the beginning of a line. The
// buffer that holds them may be moved. full tells Parse that there is no room
// for more behind data, so that an unfinished line is an error. Errors are
// *MalformedError.
func (r *Response) Parse(data []byte, full bool) (used int, done bool, err error) {
	fresh := r.heads != nil && r.head == 0
	if fresh {
		used = r.heads.recall(r, data)
		fresh = used == 0
	}
	for r.state != atEnd {
		n, err := r.step(data[used:])
		if err != nil {
			return used, false, err
		}
		if n == 0 {
			if full && used == 0 && len(data) > 0 {
				return used, false, errLineTooLong
			}
			return used, false, nil
		}
		used += n
		if fresh && r.state > atField {
			fresh = false
			r.heads.keep(r, data[:used])
		}
	}
	return used, true, nil
}

// EOF tells that the connection was closed by the other side. It returns true
// if that completes the response.
func (r *Response) EOF() bool {
	if r.state == atBodyUntilClose {
		r.state = atEnd
	}
	return r.state == atEnd
}

// step consumes one line, or a piece of a body. It returns 0 for an unfinished
// line or nothing to read.
func (r *Response) step(data []byte) (int, error) {
	switch r.state {
	case atBody, atChunk:
		n := int64(min(uint64(len(data)), uint64(r.left)))
		r.left -= n
		r.Body += n
		if r.left == 0 {
			r.bodyPieceEnds()
		}
		return int(n), nil
	case atBodyUntilClose:
		r.Body += int64(len(data))
		return len(data), nil
	}
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		return 0, nil
	}
	size := end + 1
	line := data[:end]
	crlf := end > 0 && line[end-1] == '\r'
	if crlf {
		line = line[:end-1]
	}
	switch r.state {
	case atChunkSize:
		return size, r.chunkSize(line, crlf)
	case atChunkEnd:
		if !crlf || len(line) > 0 {
			return 0, errChunkEnd
		}
		r.state = atChunkSize
		return size, nil
	}
	if r.head += size; r.head > MaxHead {
		return 0, errHeadTooLong
	}
	switch {
	case r.state == atStatus:
		return size, r.statusLine(line)
	case len(line) > 0:
		return size, r.field(line, crlf)
	case r.state == atTrailer:
		if !crlf {
			return 0, errFieldName
		}
		r.state = atEnd
		return size, nil
	}
	return size, r.headEnds()
}

func (r *Response) bodyPieceEnds() {
	if r.chunked {
		r.state = atChunkEnd
	} else {
		r.state = atEnd
	}
}

// statusLine takes "HTTP/1.1 200 OK"; the reason may be missing.
func (r *Response) statusLine(line []byte) error {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	if line[7] != '1' && line[7] != '0' {
		return errStatusLine
	}
	status := 0
	for _, d := range line[9:12] {
		if d < '0' || d > '9' {
			return errStatusLine
		}
		status = 10*status + int(d-'0')
	}
	if status < 100 {
		return errStatusLine
	}
	r.Status, r.oldVersion, r.length = status, line[7] == '0', -1
	r.state = atField
	return nil
}

// headEnds decides how the body is framed: RFC 9112, section 6.3.
func (r *Response) headEnds() error {
	switch {
	case r.chunked && (r.length >= 0 || r.oldVersion):
		return errFraming
	case r.Status < 200 && r.Status != 101:
		return r.informationalEnds()
	}
	if r.oldVersion && !r.keepAlive {
		r.Close = true
	}
	switch {
	case r.Status == 101: // what follows is another protocol
		r.Close, r.state = true, atEnd
	case r.noBody || r.Status == 204 || r.Status == 304 || r.length == 0 && !r.chunked:
		r.state = atEnd
	case r.chunked:
		r.state = atChunkSize
	case r.length > 0:
		r.left, r.state = r.length, atBody
	default:
		r.Close, r.state = true, atBodyUntilClose
	}
	return nil
}

// informationalEnds forgets a 1xx response but for its being there.
func (r *Response) informationalEnds() error {
	seen, head := r.Informational+1, r.head
	if seen > maxInformational {
		return errInformational
	}
	r.Reset(r.noBody)
	r.Informational, r.head = seen, head
	return nil
}

// chunkSize takes the line before a chunk: hexadecimal digits, perhaps an
// extension, which nobody uses and which is skipped.
func (r *Response) chunkSize(line []byte, crlf bool) error {
	if !crlf || bytes.IndexByte(line, '\r') >= 0 || len(line) > 1024 {
		return errChunkSize
	}
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	} else {
		line = trimRight(line)
	}
	if len(line) == 0 || len(line) > 15 { // 15 digits cannot overflow
		return errChunkSize
	}
	var size int64
	for _, c := range line {
		digit, ok := hex(c)
		if !ok {
			return errChunkSize
		}
		size = size<<4 | digit
	}
	if size == 0 {
		r.state = atTrailer
		return nil
	}
	if r.Body > math.MaxInt64-size {
		return errChunkSize
	}
	r.left, r.state = size, atChunk
	return nil
}

func hex(c byte) (int64, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10, true
	}
	return 0, false
}
