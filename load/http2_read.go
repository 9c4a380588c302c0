package load

import (
	"bytes"
	"hash/maphash"
	"strings"

	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

// markPrefix is marker.Prefix as HTTP/2 has it.
var markPrefix = strings.ToLower(marker.Prefix)

// A head is what matters of one header block.
type head struct {
	status int   // 0 for none
	length int64 // content-length, or -1
	grpc   int   // grpc-status, or -1
	delay  int64 // nanoseconds, or -1
	marks  []hpack.HeaderField
	// broken is set when the fields break a rule.
	broken bool

	regular bool // a field that is no pseudo-header has come
	size    int  // of all fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts
}

func (h *head) reset() {
	*h = head{length: -1, grpc: -1, delay: -1, marks: h.marks[:0]}
}

// A headReader reads a connection's header blocks.
//
// Answers to a load generator are all the same, and a server that uses HPACK
// well sends the same few bytes for them. A block that changes nothing in
// HPACK's table means the same for as long as no other block changes it: so
// what it meant is kept, and looked up by its bytes. That costs a comparison
// in place of a decoding, which allocates.
type headReader struct {
	decoder *hpack.Decoder
	// epoch counts the changes to the decoder's table.
	epoch uint64
	known [8]knownHead
	fresh head // of a block that cannot be kept
	now   *head
	text  []byte
	name  []byte
}

type knownHead struct {
	epoch uint64 // 0 is never
	block []byte
	head  head
}

// maxKnown is the size of blocks that are kept.
const maxKnown = 1 << 10

var headSeed = maphash.MakeSeed()

func (r *headReader) init() {
	r.decoder = hpack.NewDecoder(initialTable, r.field)
	r.decoder.SetMaxStringLength(MaxHead)
}

// reset prepares for another connection.
func (r *headReader) reset() {
	_ = r.decoder.Close() // what a block has left unread is of no interest
	r.decoder.SetMaxDynamicTableSize(0)
	r.decoder.SetMaxDynamicTableSize(initialTable)
	r.epoch++
}

// read reads one header block. Its head is valid until the next call.
func (r *headReader) read(block []byte) (*head, error) {
	if len(block) > maxKnown {
		r.epoch++
		return &r.fresh, r.decode(block, &r.fresh)
	}
	k := &r.known[maphash.Bytes(headSeed, block)%uint64(len(r.known))]
	if k.epoch == r.epoch && bytes.Equal(k.block, block) {
		return &k.head, nil
	}
	if changesTable(block) {
		r.epoch++
		return &r.fresh, r.decode(block, &r.fresh)
	}
	k.epoch = 0
	if err := r.decode(block, &k.head); err != nil {
		return nil, err
	}
	k.epoch, k.block = r.epoch, append(k.block[:0], block...)
	return &k.head, nil
}

func (r *headReader) decode(block []byte, h *head) error {
	h.reset()
	r.now = h
	if _, err := r.decoder.Write(block); err != nil {
		return errHeaderBlock
	}
	if err := r.decoder.Close(); err != nil {
		return errHeaderBlock
	}
	return nil
}

// mark gives the fields that are part of a marker to f.
func (r *headReader) mark(f *marker.Fields, h *head) {
	for i := range h.marks {
		r.name, r.text = append(r.name[:0], h.marks[i].Name...), append(r.text[:0], h.marks[i].Value...)
		f.Set(r.name, r.text)
	}
}

// field takes one field from the decoder: RFC 9113, section 8.2 and 8.3.
func (r *headReader) field(f hpack.HeaderField) {
	h := r.now
	if h.size += int(f.Size()); h.size > MaxHead {
		h.broken = true
		return
	}
	r.text = append(r.text[:0], f.Value...)
	if !isText(r.text) {
		h.broken = true
		return
	}
	if strings.HasPrefix(f.Name, ":") {
		if f.Name != ":status" || h.status != 0 || h.regular {
			h.broken = true
			return
		}
		h.status = int(number(r.text, 3))
		h.broken = h.broken || len(r.text) != 3 || h.status < 100
		return
	}
	h.regular = true
	if !isLowerToken(f.Name) {
		h.broken = true
		return
	}
	r.regular(h, f)
}

// regular takes a field that is no pseudo-header. Its value is in r.text.
func (r *headReader) regular(h *head, f hpack.HeaderField) {
	switch f.Name {
	case "content-length":
		length := number(r.text, 18)
		if length < 0 || h.length >= 0 && h.length != length {
			h.broken = true
		}
		h.length = length
	case "grpc-status":
		status := number(r.text, 9)
		if status < 0 || h.grpc >= 0 && h.grpc != int(status) {
			h.broken = true
		}
		h.grpc = int(status)
	case appliedName:
		h.delay = number(r.text, 18)
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		h.broken = true
	default:
		if strings.HasPrefix(f.Name, markPrefix) {
			h.marks = append(h.marks, f)
		}
	}
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

// changesTable reports whether a header block adds to HPACK's table, or
// resizes it: RFC 7541, section 6. It also does so for blocks that are not
// understood, so that these are always decoded.
func changesTable(block []byte) bool {
	for len(block) > 0 {
		var ok bool
		switch b := block[0]; {
		case b&0x80 != 0: // indexed
			_, block, ok = varint(block, 7)
		case b&0xe0 != 0: // added, or resized
			return true
		default: // literal, with the name's index or the name
			var index uint64
			if index, block, ok = varint(block, 4); ok && index == 0 {
				block, ok = skipString(block)
			}
			if ok {
				block, ok = skipString(block)
			}
		}
		if !ok {
			return true
		}
	}
	return false
}

func skipString(block []byte) ([]byte, bool) {
	size, rest, ok := varint(block, 7)
	if !ok || size > uint64(len(rest)) {
		return nil, false
	}
	return rest[size:], true
}

// varint reads an integer with a prefix of some bits: RFC 7541, section 5.1.
func varint(block []byte, bits int) (n uint64, rest []byte, ok bool) {
	if len(block) == 0 {
		return 0, nil, false
	}
	most := uint64(1)<<bits - 1
	if n = uint64(block[0]) & most; n < most {
		return n, block[1:], true
	}
	for i, b := range block[1:] {
		if i > 3 {
			return 0, nil, false
		}
		n += uint64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return n, block[i+2:], true
		}
	}
	return 0, nil, false
}
