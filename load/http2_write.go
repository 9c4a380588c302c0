package load

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// A headerWriter writes a connection's requests.
//
// Header fields go into HPACK's table as long as there is room in it, and none
// is pushed out of it again: so a request's header block is soon the same each
// time, whatever else is sent, and is kept with its frame. Fields with a number
// in them are never in the table, and are written plainly, so that the number
// can be put over them.
type headerWriter struct {
	grpc    bool
	encoder *hpack.Encoder
	buffer  bytes.Buffer
	// room is what is left in the table, in bytes.
	room uint32
	// epoch counts the changes to the table.
	epoch   uint64
	indexed map[headerField]bool
	holes   []int // of the block that is being written

	kept  map[*Request]*template
	last  *template
	spare template
}

// A template is a request's bytes on one connection, but for the stream and
// the number.
type template struct {
	request *Request
	epoch   uint64 // of the table that it is for
	wire    []byte
	frames  []int // where frames begin in wire
	holes   []int // where numbers go in wire
	// dataAt is where the payload's frame begins in wire. There is none when
	// the payload is empty or larger than inlineBody.
	dataAt  int
	payload int
}

// maxTemplates is how many templates are kept for a connection. More requests
// than that are written anew each time.
const maxTemplates = 128

func (w *headerWriter) init() {
	w.encoder = hpack.NewEncoder(&w.buffer)
	w.indexed = map[headerField]bool{}
	w.kept = map[*Request]*template{}
}

// reset prepares for another connection.
func (w *headerWriter) reset() {
	w.resized(initialTable)
	// The encoder wants to tell of the new size: the other side has it.
	w.buffer.Reset()
	_ = w.encoder.WriteField(hpack.HeaderField{Name: ":scheme", Value: "http"}) // a Buffer takes everything
}

// resize takes the size that the server allows the table.
func (w *headerWriter) resize(size uint32) {
	if size != w.encoder.MaxDynamicTableSize() {
		w.resized(size)
	}
}

// resized empties the table.
func (w *headerWriter) resized(size uint32) {
	w.encoder.SetMaxDynamicTableSize(0)
	w.encoder.SetMaxDynamicTableSize(size)
	w.room = size
	w.epoch++
	clear(w.indexed)
}

// template returns the template of r, which is valid until the next call.
func (w *headerWriter) template(r *Request) *template {
	if t := w.last; t != nil && t.request == r && t.epoch == w.epoch {
		return t
	}
	t := w.kept[r]
	if t == nil {
		if t = &w.spare; len(w.kept) < maxTemplates {
			t = &template{}
			w.kept[r] = t
		}
		t.request, t.epoch = r, 0
	}
	if t.epoch != w.epoch {
		before := w.epoch
		w.write(t)
		if t.epoch = w.epoch; w.epoch != before {
			t.epoch = 0 // what has added to the table is not said again
		}
	}
	w.last = t
	return t
}

// write makes t's bytes.
func (w *headerWriter) write(t *template) {
	w.block(t.request)
	t.payload = w.payload(t.request)
	t.wire, t.frames, t.holes = t.wire[:0], t.frames[:0], t.holes[:0]
	var flags byte
	if t.payload == 0 {
		flags = flagEndStream
	}
	kind := byte(frameHeaders)
	block, holes := w.buffer.Bytes(), w.holes
	for at := 0; at == 0 || at < len(block); kind = frameContinuation {
		end := cut(at, len(block), holes)
		if end == len(block) {
			flags |= flagEndHeaders
		}
		t.frames = append(t.frames, len(t.wire))
		t.wire = appendFrame(t.wire, kind, flags, 0, end-at)
		for len(holes) > 0 && holes[0] < end {
			t.holes = append(t.holes, len(t.wire)+holes[0]-at)
			holes = holes[1:]
		}
		t.wire = append(t.wire, block[at:end]...)
		at, flags = end, 0
	}
	t.dataAt = len(t.wire)
	if t.payload > 0 && t.payload <= inlineBody {
		w.data(t)
	}
}

// cut is where the part of a header block that begins at at ends: no number
// goes over two frames.
func cut(at, size int, holes []int) int {
	end := min(at+maxFrame, size)
	for _, h := range holes {
		if h < end && end < h+numberDigits {
			return h
		}
	}
	return end
}

// data appends the payload's frame.
func (w *headerWriter) data(t *template) {
	t.frames = append(t.frames, len(t.wire))
	t.wire = appendFrame(t.wire, frameData, flagEndStream, 0, t.payload)
	if w.grpc {
		t.wire = appendGRPCPrefix(t.wire, len(t.request.body))
	}
	body := len(t.wire)
	t.wire = append(t.wire, t.request.body...)
	for at := nextNumber(t.request.body, 0); at >= 0; at = nextNumber(t.request.body, at+numberDigits) {
		t.holes = append(t.holes, body+at)
	}
}

// payload is the size of what follows a request's head, in bytes.
func (w *headerWriter) payload(r *Request) int {
	if w.grpc {
		return grpcPrefix + len(r.body)
	}
	return len(r.body)
}

// appendPayload appends a part of what follows x's head.
func (w *headerWriter) appendPayload(out []byte, x *exchange, from, to int) []byte {
	body := x.request.body
	if w.grpc {
		if from < grpcPrefix {
			var prefix [grpcPrefix]byte
			appendGRPCPrefix(prefix[:0], len(body))
			out = append(out, prefix[from:min(to, grpcPrefix)]...)
		}
		from, to = max(from-grpcPrefix, 0), max(to-grpcPrefix, 0)
	}
	start := len(out)
	out = append(out, body[from:to]...)
	// A number may have begun before this part, or go on behind it.
	body = body[:min(to+numberDigits-1, len(body))]
	for at := nextNumber(body, max(from-numberDigits+1, 0)); at >= 0; at = nextNumber(body, at+numberDigits) {
		var digits [numberDigits]byte
		putNumber(digits[:], x.number)
		lost := max(from-at, 0)
		copy(out[start+max(at-from, 0):], digits[lost:])
	}
	return out
}

// nextNumber is where the next number goes at or behind from, or -1.
func nextNumber(text []byte, from int) int {
	if from > len(text) {
		return -1
	}
	at := bytes.Index(text[from:], numberMark)
	if at < 0 {
		return -1
	}
	return from + at
}

// block writes a request's header block.
func (w *headerWriter) block(r *Request) {
	w.buffer.Reset()
	w.holes = w.holes[:0]
	// The scheme comes first: whatever the encoder has to say about its table
	// must come before all fields, and the scheme always goes through it.
	w.index(headerField{name: ":scheme", value: r.scheme})
	w.field(headerField{name: ":method", value: r.method})
	w.field(headerField{name: ":authority", value: r.authority})
	w.field(headerField{name: ":path", value: r.path})
	contentType, length := w.grpc, len(r.body) > 0 || r.method == "POST" || r.method == "PUT" || r.method == "PATCH"
	for _, f := range r.header {
		if connectionField(f.name) || w.grpc && f.name == "te" {
			continue
		}
		contentType = contentType && f.name != "content-type"
		length = length && f.name != "content-length"
		w.field(f)
	}
	if contentType {
		w.field(headerField{name: "content-type", value: "application/grpc"})
	}
	if w.grpc {
		w.field(headerField{name: "te", value: "trailers"})
	} else if length {
		w.field(headerField{name: "content-length", value: strconv.Itoa(len(r.body))})
	}
}

// connectionField reports whether a field has no place in HTTP/2.
func connectionField(name string) bool {
	switch name {
	case "connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

func (w *headerWriter) field(f headerField) {
	f.numbered = strings.Contains(f.value, string(numberMark))
	size := (hpack.HeaderField{Name: f.name, Value: f.value}).Size()
	if f.numbered || size > w.room && !w.indexed[f] {
		w.literal(f)
		return
	}
	before := w.buffer.Len()
	w.index(f)
	w.indexed[f] = true
	if w.buffer.Bytes()[before]&0xc0 == 0x40 { // added: RFC 7541, section 6.2.1
		w.room -= size
		w.epoch++
	}
}

// index writes a field by its place in a table, or adds it.
func (w *headerWriter) index(f headerField) {
	_ = w.encoder.WriteField(hpack.HeaderField{Name: f.name, Value: f.value}) // a Buffer takes everything
}

// literal writes a field that stays out of the table: RFC 7541, section 6.2.2.
func (w *headerWriter) literal(f headerField) {
	out := w.buffer.AvailableBuffer()
	switch f.name {
	case ":authority": // the names that have a place in the static table
		out = append(out, 1)
	case ":method":
		out = append(out, 2)
	case ":path":
		out = append(out, 4)
	default:
		out = append(out, 0)
		out = append(appendVarint(out, 0, 7, uint64(len(f.name))), f.name...)
	}
	if packed := hpack.HuffmanEncodeLength(f.value); !f.numbered && packed < uint64(len(f.value)) {
		out = hpack.AppendHuffmanString(appendVarint(out, 0x80, 7, packed), f.value)
	} else {
		out = append(appendVarint(out, 0, 7, uint64(len(f.value))), f.value...)
	}
	w.buffer.Write(out)
	if !f.numbered {
		return
	}
	written := w.buffer.Bytes()
	for at := nextNumber(written, len(written)-len(f.value)); at >= 0; at = nextNumber(written, at+numberDigits) {
		w.holes = append(w.holes, at)
	}
}

// appendVarint appends an integer with a prefix of some bits, behind flags.
func appendVarint(out []byte, flags byte, bits int, n uint64) []byte {
	most := uint64(1)<<bits - 1
	if n < most {
		return append(out, flags|byte(n))
	}
	out = append(out, flags|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
