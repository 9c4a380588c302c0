package load

import "encoding/binary"

// What can be wrong with a connection. The rest is wrong with one answer.
var (
	errNotHTTP2      = &MalformedError{"not HTTP/2: no settings first"}
	errFrameSize     = &MalformedError{"frame of a wrong size"}
	errFrameStream   = &MalformedError{"frame on a stream that cannot have it"}
	errFramePadding  = &MalformedError{"padding larger than its frame"}
	errFramePush     = &MalformedError{"push that was forbidden"}
	errFrameStuck    = &MalformedError{"frame larger than the buffer"}
	errContinuation  = &MalformedError{"header block without its end"}
	errSettings      = &MalformedError{"settings"}
	errWindow        = &MalformedError{"flow control window"}
	errFlow          = &MalformedError{"more than flow control allows"}
	errGoAway        = &MalformedError{"goaway that takes back another"}
	errHeaderBlock   = &MalformedError{"header block"}
	errHeaderTooLong = &MalformedError{"header block over its limit"}
)

// receive implements codec.
func (c *http2Codec) receive(in []byte, full bool, out []byte) (int, []byte, error) {
	c.out = out
	used := 0
	var err error
	for err == nil {
		var n int
		if n, err = c.step(in[used:]); n == 0 {
			break
		}
		used += n
	}
	if err == nil && full && used == 0 && len(in) > 0 {
		err = errFrameStuck
	}
	out, c.out = c.out, nil
	return used, out, err
}

// step takes a frame's header, or a piece of a frame. It returns 0 when there
// is too little of it.
func (c *http2Codec) step(data []byte) (int, error) {
	f := &c.frame
	switch {
	case !f.open:
		if len(data) < frameHeaderSize {
			return 0, nil
		}
		*f = parseFrame(data)
		err := c.begin()
		if err == nil && f.prefix+f.left == 0 {
			err = c.finish()
		}
		return frameHeaderSize, err
	case f.prefix > 0:
		return c.prefix(data)
	case f.left > 0:
		n, err := c.payload(data)
		f.left -= n
		if err == nil && n > 0 && f.left == 0 {
			err = c.finish()
		}
		return n, err
	}
	n := min(f.pad, len(data))
	f.pad -= n
	f.open = f.pad > 0
	return n, nil
}

// prefix takes what comes before the payload of a padded frame or one with a
// priority, which says nothing to a client.
func (c *http2Codec) prefix(data []byte) (int, error) {
	f := &c.frame
	n := f.prefix
	if len(data) < n {
		return 0, nil
	}
	if f.flags&flagPadded != 0 {
		f.pad = int(data[0])
	}
	f.prefix = 0
	if f.left -= n + f.pad; f.left < 0 {
		return n, errFramePadding
	}
	if f.left == 0 {
		return n, c.finish()
	}
	return n, nil
}

// begin checks what a frame's header says.
func (c *http2Codec) begin() error {
	f := &c.frame
	switch {
	case !c.settled && (f.kind != frameSettings || f.flags&flagAck != 0):
		return errNotHTTP2
	case f.left > maxFrame || f.prefix > f.left:
		return errFrameSize
	case c.continuing != 0 && (f.kind != frameContinuation || f.stream != c.continuing):
		return errContinuation
	}
	switch f.kind {
	case frameData, frameHeaders:
		if c.idle(f.stream) {
			return errFrameStream
		}
		return c.beginOnStream()
	case frameContinuation:
		if c.continuing == 0 {
			return errContinuation
		}
	case framePushPromise:
		return errFramePush
	case frameSettings, framePing, frameGoAway:
		return c.beginOnConnection()
	case frameReset, frameWindowUpdate:
		if f.left != 4 {
			return errFrameSize
		}
		if (f.stream != 0 || f.kind == frameReset) && c.idle(f.stream) {
			return errFrameStream
		}
	case framePriority:
		if f.left != 5 {
			return errFrameSize
		}
		f.kind = frameIgnored
	default:
		f.kind = frameIgnored
	}
	return nil
}

func (c *http2Codec) beginOnStream() error {
	f := &c.frame
	x := c.find(f.stream)
	if x == nil && !c.resets {
		return errFrameStream // the stream has ended
	}
	if f.kind == frameHeaders {
		return nil
	}
	if x != nil && !x.state.http2.final {
		c.fail(x, Malformed)
		x = nil
	}
	return c.consume(x, int64(f.left), f.flags&flagEndStream != 0)
}

func (c *http2Codec) beginOnConnection() error {
	f := &c.frame
	var sized bool
	switch f.kind {
	case frameSettings:
		sized = f.left%6 == 0 && (f.left == 0 || f.flags&flagAck == 0)
	case framePing:
		sized = f.left == 8
	case frameGoAway:
		sized = f.left >= 8
	}
	switch {
	case f.stream != 0:
		return errFrameStream
	case !sized:
		return errFrameSize
	}
	return nil
}

// payload takes a piece of a frame's payload.
func (c *http2Codec) payload(data []byte) (int, error) {
	f := &c.frame
	data = data[:min(len(data), f.left)]
	switch f.kind {
	case frameData:
		c.body(data)
		return len(data), nil
	case frameHeaders, frameContinuation:
		return len(data), c.fragment(data)
	case frameSettings:
		if len(data) < 6 {
			return 0, nil
		}
		return 6, c.setting(binary.BigEndian.Uint16(data), binary.BigEndian.Uint32(data[2:]))
	case frameReset, frameWindowUpdate:
		if len(data) < 4 {
			return 0, nil
		}
		value := binary.BigEndian.Uint32(data)
		if f.kind == frameReset {
			c.reset()
			return 4, nil
		}
		return 4, c.widen(f.stream, int64(value&maxWindow))
	case framePing:
		if len(data) < 8 {
			return 0, nil
		}
		if f.flags&flagAck == 0 {
			c.out = append(appendFrame(c.out, framePing, flagAck, 0, 8), data[:8]...)
		}
		return 8, nil
	case frameGoAway:
		if len(data) < 8 {
			return 0, nil
		}
		f.kind = frameIgnored // the rest is for people
		return 8, c.goAway(binary.BigEndian.Uint32(data) & maxStream)
	}
	return len(data), nil
}

// finish does what follows from the end of a frame's payload.
func (c *http2Codec) finish() error {
	f := &c.frame
	f.open = f.pad > 0
	switch f.kind {
	case frameData:
		if x := c.find(f.stream); x != nil && f.flags&flagEndStream != 0 {
			c.complete(x)
		}
	case frameSettings:
		if f.flags&flagAck == 0 {
			c.settled = true
			c.out = appendFrame(c.out, frameSettings, flagAck, 0, 0)
		}
	case frameHeaders, frameContinuation:
		if f.kind == frameHeaders {
			c.continuing, c.blockEnds = f.stream, f.flags&flagEndStream != 0
		}
		if f.flags&flagEndHeaders != 0 {
			return c.blockEnd()
		}
	}
	return nil
}

// setting takes one of the server's settings.
func (c *http2Codec) setting(id uint16, value uint32) error {
	switch id {
	case settingTableSize:
		c.headers.resize(min(value, initialTable))
	case settingPush:
		if value != 0 {
			return errSettings
		}
	case settingStreams:
		c.limit = int(min(value, maxStream))
	case settingWindow:
		if value > maxWindow {
			return errWindow
		}
		return c.rewindow(int64(value))
	case settingFrameSize:
		if value < maxFrame || value > 1<<24-1 {
			return errSettings
		}
	}
	return nil
}

// reset takes a stream that the server has given up. When it does so after its
// whole answer, the stream is not open any more.
func (c *http2Codec) reset() {
	if x := c.find(c.frame.stream); x != nil {
		c.drop(x)
		c.owner.failed(x, Reset)
	}
}

// goAway takes the server's wish to be left. Streams behind the last one will
// not be answered; the others go on.
func (c *http2Codec) goAway(last uint32) error {
	if c.leaving && last > c.last {
		return errGoAway
	}
	c.leaving, c.last = true, last
	for _, x := range c.slots {
		if x != nil && x.stream > last {
			c.drop(x)
			c.owner.failed(x, Reset)
		}
	}
	return nil
}
