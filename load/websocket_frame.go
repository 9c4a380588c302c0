package load

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// What can be wrong with frames.
var (
	errFrameBits   = &MalformedError{"reserved bits or opcode of a frame"}
	errFrameMask   = &MalformedError{"masked frame from a server"}
	errFrameLength = &MalformedError{"length of a frame"}
	errFragment    = &MalformedError{"fragments of a message out of order"}
	errMessageSize = &MalformedError{"message too large to count"}
	errClose       = &MalformedError{"close frame"}
)

// Opcodes: RFC 6455, section 5.2.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

// maxControl is the largest payload of a control frame, in bytes.
const maxControl = 125

// A webSocketFrame is one that is being received.
type webSocketFrame struct {
	open  bool // it is a piece of a message, and its header has come
	final bool // it ends the message
	op    byte
	left  int64 // bytes of payload that have not come
}

func (f *webSocketFrame) control() bool { return f.op >= opClose }

// parse reads the header of a frame from a server, and returns its size in
// bytes, or 0 when there is too little of it.
func (f *webSocketFrame) parse(data []byte) (int, error) {
	if len(data) < 2 {
		return 0, nil
	}
	f.final, f.op, f.left = data[0]&0x80 != 0, data[0]&0xf, int64(data[1]&0x7f)
	switch {
	case data[0]&0x70 != 0 || f.op > opPong || f.op > opBinary && f.op < opClose:
		return 0, errFrameBits
	case data[1]&0x80 != 0:
		return 0, errFrameMask
	case f.control() && (!f.final || f.left > maxControl):
		return 0, errFrameLength
	case f.left < 126:
		return 2, nil
	case f.left == 126:
		if len(data) < 4 {
			return 0, nil
		}
		if f.left = int64(binary.BigEndian.Uint16(data[2:])); f.left < 126 {
			return 0, errFrameLength // it must be as short as it can be
		}
		return 4, nil
	}
	if len(data) < 10 {
		return 0, nil
	}
	size := binary.BigEndian.Uint64(data[2:])
	if size < 1<<16 || size > math.MaxInt64 {
		return 0, errFrameLength
	}
	f.left = int64(size)
	return 10, nil
}

// appendFrameHeader appends what comes before the payload of a frame to a
// server, which is to be masked with what is returned: with another mask for
// each frame, and one that cannot be guessed (RFC 6455, section 10.3).
func appendFrameHeader(out []byte, op byte, size int) ([]byte, [4]byte) {
	const final, masked = 0x80, 0x80
	switch {
	case size < 126:
		out = append(out, final|op, masked|byte(size))
	case size < 1<<16:
		out = append(out, final|op, masked|126, byte(size>>8), byte(size))
	default:
		out = binary.BigEndian.AppendUint64(append(out, final|op, masked|127), uint64(size))
	}
	var mask [4]byte
	binary.LittleEndian.PutUint32(mask[:], rand.Uint32())
	return append(out, mask[:]...), mask
}

// xor masks data, eight bytes at a time.
func xor(data []byte, mask [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(mask[:]))
	word |= word << 32
	for len(data) >= 8 {
		binary.LittleEndian.PutUint64(data, binary.LittleEndian.Uint64(data)^word)
		data = data[8:]
	}
	for i := range data {
		data[i] ^= mask[i&3]
	}
}
