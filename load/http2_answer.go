package load

// fragment takes a piece of a header block. One that comes whole is read where
// it is.
func (c *http2Codec) fragment(data []byte) error {
	f := &c.frame
	if len(c.block) == 0 && len(data) == f.left && f.flags&flagEndHeaders != 0 {
		c.whole = data
		return nil
	}
	if len(c.block)+len(data) > MaxHead {
		return errHeaderTooLong
	}
	c.block = append(c.block, data...)
	return nil
}

// blockEnd takes a complete header block.
func (c *http2Codec) blockEnd() error {
	block := c.whole
	if block == nil {
		block = c.block
	}
	stream := c.continuing
	c.whole, c.block, c.continuing = nil, c.block[:0], 0
	// It is read even if nobody wants it: later ones refer to it.
	h, err := c.heads.read(block)
	if err != nil {
		return err
	}
	if x := c.find(stream); x != nil && !c.head(x, h) {
		c.fail(x, Malformed)
	}
	return nil
}

// head takes the fields of an informational or final response, or of trailers.
// It reports whether they are as they should be.
func (c *http2Codec) head(x *exchange, h *head) bool {
	s := &x.state
	switch {
	case h.broken:
		return false
	case s.http2.final:
		if !c.blockEnds || h.status != 0 {
			return false
		}
	case h.status < 200: // or none
		s.http2.informational++
		return h.status >= 100 && h.status != 101 && !c.blockEnds && s.http2.informational <= maxInformational
	default:
		s.http2.final = true
		s.http2.length = h.length
		s.answer.status, s.answer.delay = h.status, h.delay
		s.http2.marks = h.marks
		s.answer.marker = &h.marks.fields
		h.marks.users++
	}
	if c.blockEnds {
		if c.grpc {
			s.answer.grpc = h.grpc
		}
		c.complete(x)
	}
	return true
}

// body takes a piece of an answer's body.
func (c *http2Codec) body(data []byte) {
	x := c.find(c.frame.stream)
	if x == nil {
		return
	}
	s := &x.state
	if c.grpc && s.answer.status == 200 {
		if !s.http2.message.take(data) {
			c.fail(x, Malformed)
		}
		return
	}
	s.answer.body += int64(len(data))
}

// complete takes the end of an answer.
func (c *http2Codec) complete(x *exchange) {
	s := &x.state
	if !c.right(x) {
		c.fail(x, Malformed)
		return
	}
	if s.http2.unsent > 0 {
		// The server did not wait for the whole request, and does not want the
		// rest of it.
		c.resets = true
		c.out = appendReset(c.out, x.stream, codeCancel)
	}
	c.drop(x)
	c.owner.answered(x, &s.answer)
}

// right reports whether the body is what the head has announced.
func (c *http2Codec) right(x *exchange) bool {
	s := &x.state
	if c.grpc && s.answer.status == 200 {
		s.answer.body = s.http2.message.size
		return s.http2.message.complete(s.answer.grpc)
	}
	if x.request.head || s.answer.status == 304 {
		return s.answer.body == 0
	}
	return s.http2.length < 0 || s.http2.length == s.answer.body
}
