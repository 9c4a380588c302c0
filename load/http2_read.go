package load

import (
	"bytes"

	"golang.org/x/net/http2/hpack"

	"github.com/gatemark/gatemark/marker"
)

// A head is what matters of one header block.
type head struct {
	status int   // 0 for none
	length int64 // content-length, or -1
	grpc   int   // grpc-status, or -1
	delay  int64 // nanoseconds, or -1
	marks  *sharedMarks
	// broken is set when the fields break a rule.
	broken bool

	regular bool // a field that is no pseudo-header has come
	size    int  // of all fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts
}

func (h *head) reset() {
	marks := h.marks
	if marks == nil || marks.users > 0 {
		marks = &sharedMarks{}
	}
	marks.fields.Reset()
	*h = head{length: -1, grpc: -1, delay: -1, marks: marks}
}

// sharedMarks is the marker of all answers with one head. It does not change
// while it is in use.
type sharedMarks struct {
	fields marker.Fields
	users  int // streams whose answer is not complete
}

// A headReader reads a connection's header blocks.
//
// Answers to a load generator are all the same, and a server that uses HPACK
// well sends the same few bytes for them. A block that changes nothing in
// HPACK's table means the same for as long as no other block changes it: so
// what it meant is kept, and found by its bytes. That costs a comparison in
// place of a decoding. Where some field changes each time, the others are still
// judged only once.
type headReader struct {
	decoder *hpack.Decoder
	// epoch counts the changes to the decoder's table.
	epoch  uint64
	known  [8]knownHead
	recent int  // the last of them that came, or was learned
	fresh  head // of a block that cannot be kept
	now    *head
	judged [16]judgedField
	text   []byte
	name   []byte
}

// A knownHead is what a block means while the epoch lasts. Epoch 0 never comes.
type knownHead struct {
	epoch uint64
	block []byte
	head  head
}

// maxKnown is the size of blocks that are kept, in bytes.
const maxKnown = 1 << 10

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
	for range r.known {
		k := &r.known[r.recent]
		if k.epoch == r.epoch && bytes.Equal(k.block, block) {
			return &k.head, nil
		}
		r.recent = (r.recent + 1) % len(r.known)
	}
	if changesTable(block) {
		r.epoch++
		return &r.fresh, r.decode(block, &r.fresh)
	}
	r.recent = (r.recent + len(r.known) - 1) % len(r.known) // the longest unused, if they take turns
	k := &r.known[r.recent]
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
