package echo

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/net/http2"
)

// Frames are appended to a connection's out while its lock is held. Header
// fields are written without compression that would need a memory: the block
// that every response carries is the same bytes every time.

const frameHead = 9

// begin begins a frame, and returns where.
func (c *http2Conn) begin(kind http2.FrameType, flags http2.Flags, id uint32) int {
	place := len(c.out)
	c.out = appendUint32(append(c.out, 0, 0, 0, byte(kind), byte(flags)), id)
	return place
}

// finish fills in the length of the frame that began at a place.
func (c *http2Conn) finish(place int) {
	n := len(c.out) - place - frameHead
	c.out[place], c.out[place+1], c.out[place+2] = byte(n>>16), byte(n>>8), byte(n)
}

func (c *http2Conn) setting(id http2.SettingID, value uint32) {
	c.out = appendUint32(append(c.out, byte(id>>8), byte(id)), value)
}

// grow lets the client send more.
func (c *http2Conn) grow(id uint32, by int64) {
	frame := c.begin(http2.FrameWindowUpdate, 0, id)
	c.out = appendUint32(c.out, uint32(by))
	c.finish(frame)
}

func (c *http2Conn) appendReset(id uint32, code http2.ErrCode) {
	frame := c.begin(http2.FrameRSTStream, 0, id)
	c.out = appendUint32(c.out, uint32(code))
	c.finish(frame)
}

func appendUint32(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

// Indexes in the static table of RFC 7541, appendix A.
const (
	indexStatus    = 8
	indexStatus200 = 8
)

// appendStatus appends ":status".
func appendStatus(b []byte, status int) []byte {
	if status == 200 {
		return append(b, 0x80|indexStatus200)
	}
	b = append(b, indexStatus, 3) // a literal of 3 bytes, with an indexed name
	return strconv.AppendInt(b, int64(status), 10)
}

// appendField appends a literal field without indexing. The name must be in
// lower case.
func appendField[V string | []byte](b []byte, name string, value V) []byte {
	b = append(appendLength(append(b, 0), len(name)), name...)
	return append(appendLength(b, len(value)), value...)
}

func appendNumber(b []byte, name string, value int64) []byte {
	var digits [20]byte
	return appendField(b, name, strconv.AppendInt(digits[:0], value, 10))
}

// appendLength appends an integer with a prefix of 7 bits (RFC 7541, 5.1).
func appendLength(b []byte, n int) []byte {
	if n < 127 {
		return append(b, byte(n))
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
