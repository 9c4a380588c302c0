package echo

import (
	"bytes"
	"strconv"
)

// skipBody reads the request's body and throws it away.
func (c *session) skipBody(r *request) error {
	if r.expects && (r.chunked || r.length > 0) {
		// The client waits for the 100, which is in front of the response.
		if err := c.flushContinue(); err != nil {
			return err
		}
	}
	if r.chunked {
		return c.skipChunks()
	}
	return c.skip(r.length)
}

// flushContinue writes the 100 and keeps the response for later.
func (c *session) flushContinue() error {
	mark := []byte("HTTP/1.1 100 Continue\r\n\r\n")
	i := bytes.LastIndex(c.out, mark)
	if i < 0 {
		return nil // an old client, which does not know it
	}
	rest := i + len(mark)
	if _, err := c.conn.Write(c.out[:rest]); err != nil {
		return err
	}
	c.out = c.out[:copy(c.out, c.out[rest:])]
	return nil
}

func (c *session) skip(n int64) error {
	for {
		have := min(n, int64(c.end-c.start))
		c.start += int(have)
		if n -= have; n == 0 {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

func (c *session) skipChunks() error {
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
		if err := c.skip(int64(size) + 2); err != nil { // with its line end
			return err
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
