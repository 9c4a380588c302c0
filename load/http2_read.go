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
// Answers to a load generator are all alike, and what their blocks have meant
// is kept, and found by their bytes: that costs a comparison in place of a
// decoding, which allocates. A block means the same
//   - for ever if it refers to nothing in HPACK's table, as nginx's;
//   - until the table changes, otherwise: servers that use the table well soon
//     change it no more.
//
// What a block of the first kind adds to the table is added when a block comes
// that refers to the table, and never if none does.
//
// Where some field changes each time, the others are still judged only once.
type headReader struct {
	decoder *hpack.Decoder
	// plain decodes blocks that do not refer to the table.
	plain *hpack.Decoder
	// epoch counts the changes to the table.
	epoch  uint64
	known  [8]knownHead
	recent int  // the last of them that came, or was learned
	fresh  head // of a block that cannot be kept
	now    *head
	judged [16]judgedField
	// behind lists blocks whose additions the decoder lacks, the oldest first.
	behind []postponedBlock
	text   []byte
	name   []byte
}

// A knownHead is what a block means, for as long as the epoch lasts if it
// refers to the table. Its block does not change.
type knownHead struct {
	block []byte
	blockKind
	epoch uint64
	head  head
}

// A postponedBlock adds at least that many bytes to the table.
type postponedBlock struct {
	block []byte
	adds  int
}

const (
	// maxKnown is the size of blocks that are kept, in bytes.
	maxKnown = 1 << 10
	// maxBehind is how many blocks are listed before those are dropped that
	// later ones push out of the table again.
	maxBehind = 4 * initialTable / entryOverhead
	// entryOverhead is what each entry of the table counts beside its name and
	// value, in bytes: RFC 7541, section 4.1.
	entryOverhead = 32
)

func (r *headReader) init() {
	r.decoder = hpack.NewDecoder(initialTable, r.field)
	r.decoder.SetMaxStringLength(MaxHead)
	r.plain = hpack.NewDecoder(0, r.field)
	r.plain.SetMaxStringLength(MaxHead)
}

// reset prepares for another connection.
func (r *headReader) reset() {
	_ = r.decoder.Close() // what a block has left unread is of no interest
	r.decoder.SetMaxDynamicTableSize(0)
	r.decoder.SetMaxDynamicTableSize(initialTable)
	_ = r.plain.Close()
	r.behind = r.behind[:0]
	r.epoch++
}

// read reads one header block. Its head is valid until the next call.
func (r *headReader) read(block []byte) (*head, error) {
	for range r.known {
		k := &r.known[r.recent]
		if (!k.refers || k.epoch == r.epoch) && len(k.block) > 0 && bytes.Equal(k.block, block) {
			r.postpone(k)
			return &k.head, nil
		}
		r.recent = (r.recent + 1) % len(r.known)
	}
	kind := kindOf(block)
	if len(block) > maxKnown || kind.refers && kind.adds > 0 {
		if err := r.catchUp(); err != nil {
			return nil, err
		}
		r.epoch++
		return &r.fresh, r.decode(r.decoder, block, &r.fresh)
	}
	return r.learn(block, kind)
}

// learn reads a block that may come again.
func (r *headReader) learn(block []byte, kind blockKind) (*head, error) {
	r.recent = (r.recent + len(r.known) - 1) % len(r.known) // the longest unused, if they take turns
	k := &r.known[r.recent]
	k.block = nil
	decoder := r.plain
	if kind.refers {
		if err := r.catchUp(); err != nil {
			return nil, err
		}
		decoder = r.decoder
	}
	if err := r.decode(decoder, block, &k.head); err != nil {
		return nil, err
	}
	k.block, k.blockKind, k.epoch = bytes.Clone(block), kind, r.epoch
	r.postpone(k)
	return &k.head, nil
}

// postpone notes what a block that came adds to the table.
func (r *headReader) postpone(k *knownHead) {
	if k.adds == 0 {
		return
	}
	r.epoch++
	if len(r.behind) == maxBehind {
		r.behind = r.behind[:copy(r.behind, r.lasting())]
	}
	r.behind = append(r.behind, postponedBlock{k.block, k.adds})
}

// lasting is those blocks behind whose additions are still in the table in the
// end.
func (r *headReader) lasting() []postponedBlock {
	first, size := len(r.behind), 0
	for first > 0 && size < initialTable {
		first--
		size += r.behind[first].adds
	}
	return r.behind[first:]
}

// catchUp adds to the decoder's table what was postponed.
func (r *headReader) catchUp() error {
	if len(r.behind) == 0 {
		return nil
	}
	r.decoder.SetEmitEnabled(false)
	defer r.decoder.SetEmitEnabled(true)
	for _, b := range r.lasting() {
		if _, err := r.decoder.Write(b.block); err != nil {
			return errHeaderBlock
		}
		if err := r.decoder.Close(); err != nil {
			return errHeaderBlock
		}
	}
	r.behind = r.behind[:0]
	return nil
}

func (r *headReader) decode(decoder *hpack.Decoder, block []byte, h *head) error {
	h.reset()
	r.now = h
	if _, err := decoder.Write(block); err != nil {
		return errHeaderBlock
	}
	if err := decoder.Close(); err != nil {
		return errHeaderBlock
	}
	return nil
}
