package echo

import (
	"bytes"
	"errors"
	"strconv"
)

// maxEvent bounds the body of a structured CloudEvent, in bytes.
const maxEvent = 16 << 20

var errEvent = errors.New("structured event is too large")

// readBody reads the request's body, and throws it away unless it is an event.
func (c *session) readBody(head []byte) error {
	r := &c.request
	if !r.chunked && r.length <= int64(c.end-c.start) {
		c.body = c.buffer[c.start : c.start+int(r.length)]
		c.start += int(r.length)
		return nil
	}
	// The body needs the buffer, where the head is.
	c.pinned = append(c.pinned[:0], head...)
	c.raw = c.pinned
	if err := r.parse(c.pinned); err != nil && !errors.Is(err, errSize) {
		return err
	}
	if r.expects && !r.oldVersion {
		c.out = append(c.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
	// A client may wait for what it has asked before.
	if err := c.flush(); err != nil {
		return err
	}
	c.kept = c.kept[:0]
	var err error
	if r.chunked {
		err = c.readChunks()
	} else {
		err = c.read(r.length)
	}
	c.body = c.kept
	if errors.Is(err, errEvent) {
		return c.refuse("413 Content Too Large", err)
	}
	return err
}

// read reads n bytes of the body.
func (c *session) read(n int64) error {
	for {
		have := min(n, int64(c.end-c.start))
		if err := c.keep(c.buffer[c.start : c.start+int(have)]); err != nil {
			return err
		}
		c.start += int(have)
		if n -= have; n == 0 {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

func (c *session) keep(part []byte) error {
	if !c.request.structured {
		return nil
	}
	if len(c.kept)+len(part) > maxEvent {
		return errEvent
	}
	c.kept = append(c.kept, part...)
	return nil
}

func (c *session) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		digits, _, _ := bytes.Cut(line, []byte{';'})
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
		if err != nil {
			return errRequest
		}
		if size == 0 {
			return c.skipTrailers()
		}
		if err := c.read(int64(size)); err != nil {
			return err
		}
		if line, err := c.line(); err != nil || len(line) > 0 {
			return errors.Join(err, errRequest)
		}
	}
}

func (c *session) skipTrailers() error {
	for {
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

func (c *session) line() ([]byte, error) {
	for {
		if i := bytes.Index(c.buffer[c.start:c.end], lineEnd); i >= 0 {
			line := c.buffer[c.start : c.start+i]
			c.start += i + len(lineEnd)
			return line, nil
		}
		if c.end-c.start >= maxHead {
			return nil, errRequest
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}
