package load

import (
	"encoding/binary"
	"math/bits"
)

// An http2Codec is a client's side of HTTP/2: RFC 9113. HPACK is x/net's. The
// frames are its own: x/net's Framer reads from an io.Reader, so that it cannot
// stop in the middle of a frame without a goroutine, and it costs more than the
// rest of this codec (see BenchmarkHTTP2Framer).
//
// It asks for windows so large (receiveWindow) that the server is never held
// back: h2load's defaults are the same.
type http2Codec struct {
	owner   owner
	streams int  // the most requests at a time
	grpc    bool // gRPC unary

	// slots holds the exchange of each open stream at half its number, modulo
	// the length, which is a power of two. A stream's number is skipped while
	// an older one holds its slot, which needs no more than that.
	slots []*exchange
	open  int
	// nextStream is the number of the next stream.
	nextStream uint32
	limit      int    // the server's on streams
	settled    bool   // the server's settings have come
	leaving    bool   // GOAWAY has come
	last       uint32 // the last stream that it leaves alive
	resets     bool   // a stream was reset here: frames for it may still come

	frame      frame
	continuing uint32 // the stream whose header block goes on
	blockEnds  bool   // with that block, the stream ends
	block      []byte // what has come of a header block in several parts
	whole      []byte // a header block in one part, where it came

	flow    flow
	heads   headReader
	headers headerWriter

	out []byte // during receive
}

// newHTTP2 makes a codec for HTTP/2 with up to as many requests at a time on a
// connection.
func newHTTP2(o owner, streams int) *http2Codec {
	c := &http2Codec{owner: o, streams: streams}
	// Half of them are free when all streams are open: a number is soon found.
	c.slots = make([]*exchange, 1<<bits.Len(uint(2*streams-1)))
	c.heads.init()
	c.headers.init()
	return c
}

// newGRPC makes a codec for unary gRPC calls over HTTP/2.
func newGRPC(o owner, streams int) *http2Codec {
	c := newHTTP2(o, streams)
	c.grpc, c.headers.grpc = true, true
	return c
}

// greet implements codec.
func (c *http2Codec) greet(out []byte) []byte {
	clear(c.slots)
	*c = http2Codec{
		owner: c.owner, streams: c.streams, grpc: c.grpc, slots: c.slots, block: c.block[:0],
		nextStream: 1, limit: maxStream, flow: newFlow(), heads: c.heads, headers: c.headers,
	}
	c.heads.reset()
	c.headers.reset()
	out = append(out, http2Preface...)
	out = appendFrame(out, frameSettings, 0, 0, 3*6)
	out = appendSetting(out, settingPush, 0)
	out = appendSetting(out, settingWindow, receiveWindow)
	out = appendSetting(out, settingHeadSize, MaxHead)
	return appendWindowUpdate(out, 0, receiveWindow-initialWindow)
}

// room implements codec. Until the server's settings have come there is room
// for one request, as clients do: waiting would add a round trip to each new
// connection, and more could be refused.
func (c *http2Codec) room() int {
	if c.leaving || c.exhausted() {
		return 0
	}
	most := min(c.streams, c.limit)
	if !c.settled {
		most = min(most, 1)
	}
	return max(most-c.open, 0)
}

// greeted reports whether no room means that there will be none. A server may
// also allow no streams for a while.
func (c *http2Codec) greeted() bool { return c.leaving || c.exhausted() }

// exhausted reports whether the numbers of streams are used up.
func (c *http2Codec) exhausted() bool { return c.nextStream > maxStream-4*uint32(len(c.slots)) }

// request implements codec.
func (c *http2Codec) request(out []byte, x *exchange) []byte {
	t := c.headers.template(x.request)
	c.place(x)
	s := &x.state
	s.answer = answer{grpc: -1, delay: -1}
	s.http2 = http2Stream{
		unsent: t.payload, length: -1,
		window: c.flow.initial, credit: receiveWindow,
	}
	wire := t.wire
	inline := len(wire) > t.dataAt && int64(t.payload) <= min(c.flow.window, c.flow.initial)
	if inline {
		s.http2.unsent = 0
		s.http2.window -= int64(t.payload)
		c.flow.window -= int64(t.payload)
	} else {
		wire = wire[:t.dataAt]
	}
	start := len(out)
	out = append(out, wire...)
	for _, at := range t.frames {
		if at < len(wire) {
			binary.BigEndian.PutUint32(out[start+at+5:], x.stream)
		}
	}
	for _, at := range t.holes {
		if at < len(wire) {
			putNumber(out[start+at:], x.number)
		}
	}
	if s.http2.unsent > 0 {
		c.flow.blocked++
		out = c.sendBody(out, x)
	}
	return out
}

// place gives x a stream.
func (c *http2Codec) place(x *exchange) {
	slot := c.slot(c.nextStream)
	for *slot != nil {
		c.nextStream += 2 // an unused number is closed by the use of a higher one
		slot = c.slot(c.nextStream)
	}
	*slot, x.stream = x, c.nextStream
	c.nextStream += 2
	c.open++
}

func (c *http2Codec) slot(stream uint32) **exchange {
	return &c.slots[int(stream>>1)&(len(c.slots)-1)]
}

// find is the exchange of an open stream, or nil.
func (c *http2Codec) find(stream uint32) *exchange {
	if x := *c.slot(stream); x != nil && x.stream == stream {
		return x
	}
	return nil
}

// idle reports whether nothing was sent on a stream yet.
func (c *http2Codec) idle(stream uint32) bool { return stream&1 == 0 || stream >= c.nextStream }

// drop takes x off its stream.
func (c *http2Codec) drop(x *exchange) {
	*c.slot(x.stream) = nil
	c.open--
	s := &x.state.http2
	if s.unsent > 0 {
		s.unsent = 0
		c.flow.blocked--
	}
	if s.marks != nil {
		s.marks.users--
		s.marks = nil
	}
}

// fail ends an exchange whose answer is wrong, and its stream.
func (c *http2Codec) fail(x *exchange, class Class) {
	c.drop(x)
	c.resets = true
	c.out = appendReset(c.out, x.stream, codeProtocol)
	c.owner.failed(x, class)
}

// forget implements codec.
func (c *http2Codec) forget(x *exchange, out []byte) ([]byte, bool) {
	if c.find(x.stream) == x {
		c.drop(x)
		c.resets = true
		out = appendReset(out, x.stream, codeCancel)
	}
	return out, true
}

// ended implements codec. No answer ends with its connection.
func (c *http2Codec) ended() {}
