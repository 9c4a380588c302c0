package load

import "encoding/binary"

// Frame types: RFC 9113, section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9

	// frameIgnored takes the place of the type of a frame, or the rest of one,
	// that says nothing.
	frameIgnored = 0xff
)

// Flags of frames.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings: RFC 9113, section 6.5.2.
const (
	settingTableSize = 0x1
	settingPush      = 0x2
	settingStreams   = 0x3
	settingWindow    = 0x4
	settingFrameSize = 0x5
	settingHeadSize  = 0x6
)

// Codes of errors that are sent: RFC 9113, section 7.
const (
	codeProtocol = 0x1
	codeCancel   = 0x8
)

const (
	http2Preface    = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeaderSize = 9
	// maxFrame is the payload that everybody must take, in bytes. Nothing
	// larger is sent or asked for.
	maxFrame = 1 << 14
	// maxWindow and maxStream are the largest that there can be.
	maxWindow = 1<<31 - 1
	maxStream = 1<<31 - 1
	// initialWindow and initialTable hold before settings change them.
	initialWindow = 1<<16 - 1
	initialTable  = 4096
)

// A frame is one that is being received.
type frame struct {
	open   bool // its header has come, its end has not
	kind   byte
	flags  byte
	stream uint32
	prefix int // bytes before the payload: length of padding, priority
	left   int // bytes of payload that have not come
	pad    int // bytes of padding behind it
}

// parseFrame reads the nine bytes that a frame begins with.
func parseFrame(head []byte) frame {
	f := frame{
		open: true, kind: head[3], flags: head[4],
		stream: binary.BigEndian.Uint32(head[5:]) & maxStream,
		left:   int(head[0])<<16 | int(head[1])<<8 | int(head[2]),
	}
	switch {
	case f.kind == frameHeaders && f.flags&flagPriority != 0:
		f.prefix = 5
		fallthrough
	case f.kind == frameHeaders || f.kind == frameData:
		if f.flags&flagPadded != 0 {
			f.prefix++
		}
	}
	return f
}

// appendFrame appends the nine bytes that a frame begins with.
func appendFrame(out []byte, kind, flags byte, stream uint32, size int) []byte {
	return append(out, byte(size>>16), byte(size>>8), byte(size), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

func appendSetting(out []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(out, id), value)
}

func appendReset(out []byte, stream, code uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(out, frameReset, 0, stream, 4), code)
}

func appendWindowUpdate(out []byte, stream uint32, size int64) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(out, frameWindowUpdate, 0, stream, 4), uint32(size))
}
