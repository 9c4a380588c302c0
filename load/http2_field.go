package load

import (
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

// markPrefix is marker.Prefix as HTTP/2 has it.
var markPrefix = strings.ToLower(marker.Prefix)

// fieldKind is what a field is to a client that only measures.
type fieldKind uint8

const (
	fieldIgnored fieldKind = iota
	fieldBroken
	fieldStatus
	fieldLength
	fieldGRPC
	fieldDelay
	fieldMark
)

// A judgedField is a field with what it is. Most fields come again and again,
// from HPACK's table, and then as the very same strings, which are compared
// without looking at them.
type judgedField struct {
	field  hpack.HeaderField
	kind   fieldKind
	number int64
}

// field takes one field from the decoder.
func (r *headReader) field(f hpack.HeaderField) {
	h := r.now
	if h.size += int(f.Size()); h.size > MaxHead {
		h.broken = true
		return
	}
	j := &r.judged[(3*len(f.Name)+len(f.Value))%len(r.judged)]
	if j.field.Name != f.Name || j.field.Value != f.Value || f.Name == "" {
		j.field = f
		r.text = append(r.text[:0], f.Value...)
		j.kind, j.number = judge(f.Name, r.text)
	}
	if j.kind == fieldMark {
		r.name, r.text = append(r.name[:0], f.Name...), append(r.text[:0], f.Value...)
		h.marks.fields.Set(r.name, r.text)
	}
	h.take(j)
}

// take notes a field, and the rules that hold between fields: RFC 9113,
// section 8.3.
func (h *head) take(j *judgedField) {
	if j.kind == fieldStatus {
		h.broken = h.broken || h.status != 0 || h.regular
		h.status = int(j.number)
		return
	}
	h.regular = true
	switch j.kind {
	case fieldBroken:
		h.broken = true
	case fieldLength:
		h.broken = h.broken || h.length >= 0 && h.length != j.number
		h.length = j.number
	case fieldGRPC:
		h.broken = h.broken || h.grpc >= 0 && h.grpc != int(j.number)
		h.grpc = int(j.number)
	case fieldDelay:
		h.delay = j.number
	}
}

// judge says what a field is by itself: RFC 9113, section 8.2.
func judge(name string, value []byte) (kind fieldKind, n int64) {
	if !isText(value) {
		return fieldBroken, 0
	}
	if name == ":status" {
		if n = number(value, 3); n < 100 || len(value) != 3 {
			return fieldBroken, 0
		}
		return fieldStatus, n
	}
	if !isLowerToken(name) { // so is every other pseudo-header
		return fieldBroken, 0
	}
	switch name {
	case "content-length":
		kind, n = fieldLength, number(value, 18)
	case "grpc-status":
		kind, n = fieldGRPC, number(value, 9)
	case appliedName:
		return fieldDelay, number(value, 18)
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return fieldBroken, 0
	default:
		if strings.HasPrefix(name, markPrefix) {
			return fieldMark, 0
		}
	}
	if n < 0 {
		return fieldBroken, 0
	}
	return kind, n
}

// number reads a decimal number of up to as many digits, of which there may be
// 18, or returns -1.
func number(text []byte, digits int) int64 {
	if len(text) == 0 || len(text) > digits {
		return -1
	}
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

// isLowerToken reports whether a name may be a field's in HTTP/2.
func isLowerToken(name string) bool {
	for i := range len(name) {
		if c := name[i]; !tokens[c] || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return name != ""
}
