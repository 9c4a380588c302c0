package load

// lastHead remembers the last head of a response and what it meant. A server's
// heads are mostly alike within a second, until its clock shows in them, and
// comparing is cheaper than reading.
type lastHead struct {
	head   []byte
	after  Response
	misses int
}

// maxLastHead bounds the heads that are kept, in bytes.
const maxLastHead = 2 << 10

// keepAfter is how many heads must differ from the one that is kept before
// another takes its place: where each is different, keeping them is of no use.
const keepAfter = 2

// keep remembers a head that was just read in one piece.
func (h *lastHead) keep(r *Response, head []byte) {
	if h.misses++; h.misses < keepAfter && len(h.head) > 0 || len(head) > maxLastHead || r.Informational > 0 || r.state == atEnd && r.Status == 101 {
		return
	}
	h.misses = 0
	h.head = append(h.head[:0], head...)
	fields := h.after.Marker
	fields.Copy(&r.Marker)
	h.after = *r
	h.after.Marker, h.after.heads = fields, nil
}

// recall brings a response to behind its head, if that is the one remembered.
// It returns the head's size, or 0.
func (h *lastHead) recall(r *Response, data []byte) int {
	n := len(h.head)
	if n == 0 || len(data) < n || h.after.noBody != r.noBody || string(data[:n]) != string(h.head) {
		return 0
	}
	h.misses = 0
	fields, heads, informational := r.Marker, r.heads, r.Informational
	fields.Copy(&h.after.Marker)
	*r = h.after
	r.Marker, r.heads, r.Informational = fields, heads, informational
	return n
}
