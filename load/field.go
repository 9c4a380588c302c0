package load

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/gatemark/gatemark/marker"
)

// field takes one header or trailer field.
func (r *Response) field(line []byte, crlf bool) error {
	colon := tokenLength(line)
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return errFieldName
	}
	name, value := line[:colon], trim(line[colon+1:])
	if !isText(value) {
		return errFieldValue
	}
	if r.state == atTrailer {
		if !crlf {
			return errFieldName
		}
		return nil // nothing in a trailer may change what is being read
	}
	// Names that matter begin with one of three letters.
	switch name[0] | 0x20 {
	case 'g':
		if is(name, appliedName) {
			r.delay(value)
			return nil
		}
		r.Marker.Set(name, value)
	case 'c':
		switch {
		case is(name, "content-length"):
			return r.contentLength(value)
		case is(name, "connection"):
			r.connection(value)
		}
	case 't':
		if is(name, "transfer-encoding") {
			if r.chunked || !is(value, "chunked") {
				return errTransfer
			}
			r.chunked = true
		}
	}
	return nil
}

// appliedName is marker.AppliedHeader in lower case.
var appliedName = strings.ToLower(marker.AppliedHeader)

// delay takes nanoseconds; what is no number of them is not there.
func (r *Response) delay(value []byte) {
	r.Delay = -1
	if len(value) == 0 || len(value) > 18 {
		return
	}
	var ns int64
	for _, d := range value {
		if d < '0' || d > '9' {
			return
		}
		ns = 10*ns + int64(d-'0')
	}
	r.Delay = ns
}

// contentLength takes a declared length. It may be declared again, but not
// otherwise.
func (r *Response) contentLength(value []byte) error {
	if len(value) == 0 || len(value) > 18 { // 18 digits cannot overflow
		return errContentLength
	}
	var length int64
	for _, d := range value {
		if d < '0' || d > '9' {
			return errContentLength
		}
		length = 10*length + int64(d-'0')
	}
	if r.length >= 0 && (r.length != length || r.digits != len(value)) {
		return errContentLength
	}
	r.length, r.digits = length, len(value)
	return nil
}

// connection takes the comma-separated options of a connection field.
func (r *Response) connection(value []byte) {
	for more := true; more; {
		var option []byte
		option, value, more = bytes.Cut(value, comma)
		option = trim(option)
		switch {
		case is(option, "close"):
			r.Close = true
		case is(option, "keep-alive"):
			r.keepAlive = true
		}
	}
}

var comma = []byte{','}

// is compares without regard to the case of ASCII letters. want is in lower
// case.
func is(text []byte, want string) bool {
	if len(text) != len(want) {
		return false
	}
	for i := range want {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	return trimRight(text)
}

func trimRight(text []byte) []byte {
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// tokens marks the bytes of which field names are made: RFC 9110, section 5.6.2.
var tokens = func() (table [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		table[c] = true
	}
	return table
}()

// tokenLength is the length of the token at the beginning of text.
func tokenLength(text []byte) int {
	for i, c := range text {
		if !tokens[c] {
			return i
		}
	}
	return len(text)
}

// isText reports whether there is no control character but tabs. It looks at
// eight bytes at a time: values are most of what there is to read.
func isText(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(text) >= 8 {
		word := binary.LittleEndian.Uint64(text)
		below := (word - 0x20*ones) &^ word & highs // a byte below 0x20, or a borrow from one
		delete := word ^ 0x7f*ones
		delete = (delete - ones) &^ delete & highs // a byte equal to 0x7f, or a borrow from one
		if below|delete != 0 && !isTextSlow(text[:8]) {
			return false
		}
		text = text[8:]
	}
	return isTextSlow(text)
}

func isTextSlow(text []byte) bool {
	for _, c := range text {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
