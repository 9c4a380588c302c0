package load

// receiveWindow is how much a server may send ahead, in bytes, on a stream and
// on a connection. It is far more than any answer, so that flow control never
// slows a server down, and h2load's default.
const receiveWindow = 1<<30 - 1

// inlineBody is the size up to which a request's body is kept, framed, behind
// its header block.
const inlineBody = 1 << 10

// A flow is flow control's state of a connection.
type flow struct {
	window  int64 // how much may be sent
	initial int64 // how much may be sent on a new stream
	credit  int64 // how much the server may still send
	blocked int   // streams whose body was not sent in full
}

func newFlow() flow {
	return flow{window: initialWindow, initial: initialWindow, credit: receiveWindow}
}

// http2Stream is what an exchange is to its codec.
type http2Stream struct {
	unsent int   // bytes of the request's payload
	window int64 // how much of it the server takes; it may be negative
	credit int64 // how much the server may still send
	length int64 // content-length, or -1
	// final is set when the head of the final response has come.
	final         bool
	marks         *sharedMarks // of the final response
	informational uint8
	message       grpcMessage
}

// sendBody appends what flow control allows of x's body.
func (c *http2Codec) sendBody(out []byte, x *exchange) []byte {
	s := &x.state.http2
	payload := c.headers.payload(x.request)
	for s.unsent > 0 {
		size := min(int64(s.unsent), c.flow.window, s.window, maxFrame)
		if size <= 0 {
			return out
		}
		from := payload - s.unsent
		s.unsent -= int(size)
		s.window -= size
		c.flow.window -= size
		var flags byte
		if s.unsent == 0 {
			flags = flagEndStream
		}
		out = appendFrame(out, frameData, flags, x.stream, int(size))
		out = c.headers.appendPayload(out, x, from, from+int(size))
	}
	c.flow.blocked--
	return out
}

// resume sends what held back bodies may send now, the oldest first.
func (c *http2Codec) resume() {
	at := int(c.nextStream >> 1)
	for i := 0; i < len(c.slots) && c.flow.blocked > 0 && c.flow.window > 0; i++ {
		x := c.slots[(at+i)&(len(c.slots)-1)]
		if x != nil && x.state.http2.unsent > 0 {
			c.out = c.sendBody(c.out, x)
		}
	}
}

// widen takes a WINDOW_UPDATE.
func (c *http2Codec) widen(stream uint32, size int64) error {
	if stream == 0 {
		if c.flow.window += size; size == 0 || c.flow.window > maxWindow {
			return errWindow
		}
		c.resume()
		return nil
	}
	x := c.find(stream)
	if x == nil {
		return nil // it may have been under way when the stream ended
	}
	s := &x.state.http2
	if s.window += size; size == 0 || s.window > maxWindow {
		c.fail(x, Malformed)
		return nil
	}
	if s.unsent > 0 {
		c.out = c.sendBody(c.out, x)
	}
	return nil
}

// rewindow takes another initial window, which holds for open streams too.
func (c *http2Codec) rewindow(initial int64) error {
	change := initial - c.flow.initial
	c.flow.initial = initial
	for _, x := range c.slots {
		if x == nil {
			continue
		}
		if x.state.http2.window += change; x.state.http2.window > maxWindow {
			return errWindow
		}
	}
	c.resume()
	return nil
}

// consume takes the size of a DATA frame, padding and all, from what the
// server may send, and gives it new room when half is used up.
func (c *http2Codec) consume(x *exchange, size int64, last bool) error {
	if c.flow.credit -= size; c.flow.credit < 0 {
		return errFlow
	}
	if c.flow.credit < receiveWindow/2 {
		c.out = appendWindowUpdate(c.out, 0, receiveWindow-c.flow.credit)
		c.flow.credit = receiveWindow
	}
	if x == nil {
		return nil
	}
	s := &x.state.http2
	if s.credit -= size; s.credit < 0 {
		c.fail(x, Malformed)
		return nil
	}
	if s.credit < receiveWindow/2 && !last {
		c.out = appendWindowUpdate(c.out, x.stream, receiveWindow-s.credit)
		s.credit = receiveWindow
	}
	return nil
}
