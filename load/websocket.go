package load

import (
	"math"
)

// A webSocket is a client's side of WebSocket: RFC 6455. A request is a binary
// message, and the next message that comes back is its answer, with status 101
// and the marker of the handshake. The first request on a connection asks for
// the upgrade to its path, waits for it, and bears its cost; when the upgrade
// is refused, the refusal is its answer.
//
// The framing is its own: libraries read from an io.Reader or a net.Conn, which
// cannot stop in the middle of a frame without a goroutine, and a frame is a
// header of 2 to 14 bytes.
type webSocket struct {
	owner   owner
	most    int // messages at a time
	state   webSocketState
	waiting queue[*exchange] // for their answers, the oldest first
	key     string
	head    []byte // the handshake's response
	// response is the handshake's, whose marker is that of all answers.
	response Response
	answer   answer

	frame     webSocketFrame
	inMessage bool
	size      int64 // of the message so far

	holesOf *Request
	holes   []int // where numbers go in its body
	out     []byte
}

type webSocketState uint8

const (
	webSocketNew webSocketState = iota
	webSocketUpgrading
	webSocketOpen
	webSocketOver
)

// newWebSocket makes a codec with up to as many messages at a time on a
// connection.
func newWebSocket(o owner, most int) *webSocket { return &webSocket{owner: o, most: most} }

// greet implements codec.
func (c *webSocket) greet(out []byte) []byte {
	for c.waiting.length() > 0 {
		c.waiting.pop()
	}
	c.state, c.frame, c.inMessage, c.size = webSocketNew, webSocketFrame{}, false, 0
	c.head = c.head[:0]
	c.response.Reset(false)
	return out
}

// room implements codec.
func (c *webSocket) room() int {
	switch c.state {
	case webSocketNew:
		return 1
	case webSocketOpen:
		return c.most - c.waiting.length()
	}
	return 0
}

// greeted reports whether no room means that there will be none.
func (c *webSocket) greeted() bool { return c.state == webSocketOver }

// request implements codec.
func (c *webSocket) request(out []byte, x *exchange) []byte {
	c.waiting.push(x)
	if c.state == webSocketNew {
		c.state = webSocketUpgrading
		return c.appendUpgrade(out, x)
	}
	return c.appendMessage(out, x)
}

func (c *webSocket) appendMessage(out []byte, x *exchange) []byte {
	body := x.request.body
	if c.holesOf != x.request {
		c.holesOf, c.holes = x.request, c.holes[:0]
		for at := nextNumber(body, 0); at >= 0; at = nextNumber(body, at+numberDigits) {
			c.holes = append(c.holes, at)
		}
	}
	out, mask := appendFrameHeader(out, opBinary, len(body))
	start := len(out)
	out = append(out, body...)
	for _, at := range c.holes {
		putNumber(out[start+at:], x.number)
	}
	xor(out[start:], mask)
	return out
}

// receive implements codec.
func (c *webSocket) receive(in []byte, full bool, out []byte) (int, []byte, error) {
	c.out = out
	used, err := c.take(in, full)
	out, c.out = c.out, nil
	return used, out, err
}

func (c *webSocket) take(in []byte, full bool) (used int, err error) {
	switch c.state {
	case webSocketNew:
		return 0, ErrUnasked
	case webSocketUpgrading:
		if used, err = c.upgrade(in, full); err != nil || c.state != webSocketOpen {
			return used, err
		}
	}
	for c.state == webSocketOpen {
		n, err := c.step(in[used:])
		if err != nil {
			return used, err
		}
		if n == 0 {
			break
		}
		used += n
	}
	switch {
	case c.state == webSocketOver:
		return len(in), nil // nothing matters behind a close
	case full && used == 0 && len(in) > 0:
		return 0, errFrameStuck
	}
	return used, nil
}

// step takes a frame's header, a whole control frame, or a piece of a message.
// It returns 0 when there is too little of it.
func (c *webSocket) step(data []byte) (int, error) {
	f := &c.frame
	if f.open {
		n := int(min(int64(len(data)), f.left))
		f.left -= int64(n)
		c.size += int64(n)
		if f.left == 0 {
			return n, c.frameEnds()
		}
		return n, nil
	}
	size, err := f.parse(data)
	if err != nil || size == 0 {
		return 0, err
	}
	if f.control() {
		total := size + int(f.left)
		if len(data) < total {
			return 0, nil
		}
		return total, c.control(data[size:total])
	}
	if c.inMessage != (f.op == opContinuation) {
		return 0, errFragment
	}
	if c.inMessage = true; c.size > math.MaxInt64-f.left {
		return 0, errMessageSize
	}
	if f.open = true; f.left == 0 {
		return size, c.frameEnds()
	}
	return size, nil
}

// frameEnds takes the end of a piece of a message, or of the message.
func (c *webSocket) frameEnds() error {
	c.frame.open = false
	if !c.frame.final {
		return nil
	}
	size := c.size
	c.inMessage, c.size = false, 0
	if c.waiting.length() == 0 {
		return ErrUnasked
	}
	c.answer = answer{status: 101, body: size, grpc: -1, delay: -1, marker: &c.response.Marker}
	c.owner.answered(c.waiting.pop(), &c.answer)
	return nil
}

// control takes a ping, a pong or a close.
func (c *webSocket) control(payload []byte) error {
	switch c.frame.op {
	case opPing:
		c.say(opPong, payload)
	case opClose:
		if len(payload) == 1 {
			return errClose
		}
		c.say(opClose, payload[:min(len(payload), 2)]) // the code, without the reason
		c.state = webSocketOver
		for c.waiting.length() > 0 {
			c.owner.failed(c.waiting.pop(), EOF)
		}
	}
	return nil
}

func (c *webSocket) say(op byte, payload []byte) {
	var mask [4]byte
	c.out, mask = appendFrameHeader(c.out, op, len(payload))
	start := len(c.out)
	c.out = append(c.out, payload...)
	xor(c.out[start:], mask)
}

// ended implements codec. Only the body of a refusal can end with its
// connection.
func (c *webSocket) ended() {
	if c.state == webSocketUpgrading && c.response.EOF() {
		c.refused()
	}
}

// forget implements codec. It cannot: the answer would still come, and be
// taken for the next one's.
func (c *webSocket) forget(_ *exchange, out []byte) ([]byte, bool) { return out, false }

var _ codec = (*webSocket)(nil)
