package load

import (
	"bytes"
	"strconv"

	"github.com/gatemark/gatemark/marker"
)

// A Request is a rendered request: what codecs send, and what is expected in
// return. It does not change, but for the holes in which each sending puts its
// number.
type Request struct {
	// Target is the place of its target in Options.Targets.
	Target int
	// endpoint is where it goes, as a place in the attack's endpoints.
	endpoint int

	method, scheme, authority, path string
	// header holds the fields in order, with names in lower case for HTTP/2.
	header []headerField
	body   []byte

	// wire is the request in HTTP/1.1, with zeros where its number goes.
	wire  []byte
	holes []int // offsets of the numbers in wire

	expect Expect
	head   bool // HEAD: the answer has no body
}

// A headerField is one field of a request.
type headerField struct {
	name, value string
	// numbered says that the value contains Number.
	numbered bool
}

// Number in a target's path, header values or body stands for the request's
// number: 20 decimal digits that differ for each request of an attack.
const Number = "{number}"

// numberDigits is how many digits take the place of Number.
const numberDigits = 20

// An Expect is what an answer must be, to be right.
type Expect struct {
	// Status is the HTTP status; 0 takes any of 2xx.
	Status int `json:"status,omitempty"`
	// Marker is compared as marker.Fields.Match does.
	Marker marker.Marker `json:"marker,omitzero"`
	// Body is the size of the body in bytes, or -1 for any. For WebSocket it
	// is the size of the message.
	Body int64 `json:"body"`
}

// classify is the class of a complete answer.
func (e *Expect) classify(a *answer) Class {
	switch {
	case e.Status == 0 && (a.status < 200 || a.status > 299) || e.Status != 0 && a.status != e.Status:
		return ClassOfStatus(a.status)
	case a.grpc > 0:
		return GRPCStatus
	case e.Marker != (marker.Marker{}) && !a.marker.Match(&e.Marker), e.Body >= 0 && a.body != e.Body:
		return WrongMarker
	}
	return OK
}

// render makes the request's HTTP/1.1 form.
func (r *Request) render() {
	var b bytes.Buffer
	b.WriteString(r.method + " " + r.path + " HTTP/1.1\r\nHost: " + r.authority + "\r\n")
	for _, f := range r.header {
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	if len(r.body) > 0 || r.method == "POST" || r.method == "PUT" || r.method == "PATCH" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(r.body)) + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	r.wire = b.Bytes()

	for i := 0; ; {
		at := bytes.Index(r.wire[i:], numberMark)
		if at < 0 {
			return
		}
		r.holes = append(r.holes, i+at)
		i += at + numberDigits
	}
}

// numberMark is what Number is replaced by before requests are rendered: it
// has the length of a number, so that lengths are right.
var numberMark = []byte("\x00number-goes-here-\x00\x00")

// appendNumber appends n as 20 digits.
func appendNumber(out []byte, n uint64) []byte {
	start := len(out)
	out = append(out, "00000000000000000000"...)
	putNumber(out[start:], n)
	return out
}

// putNumber writes n over the first 20 bytes.
func putNumber(out []byte, n uint64) {
	for i := numberDigits - 1; i >= 0; i-- {
		out[i] = byte('0' + n%10)
		n /= 10
	}
}
