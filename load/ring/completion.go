package ring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Completion is what the kernel says of one submission.
type Completion struct {
	Data   uint64
	Result int32 // as of the system call; below 0 an errno
	// More says that the submission will complete again.
	More bool
	// Bytes is what was received, until Release.
	Bytes  []byte
	buffer int32 // or -1
}

// Ready is the number of completions to be looked at.
func (r *Ring) Ready() int { return int(atomic.LoadUint32(r.cqTail) - *r.cqHead) }

// Take returns the next completion. Ready says whether there is one.
func (r *Ring) Take(c *Completion) {
	head := *r.cqHead
	k := &r.completions[head&r.cqMask]
	*c = Completion{Data: k.userData, Result: k.result, More: k.flags&flagMore != 0, buffer: -1}
	if k.flags&flagBuffer != 0 {
		c.buffer = int32(k.flags >> bufferShift)
		c.Bytes = r.buffers.bytes(c.buffer, max(c.Result, 0))
	}
	atomic.StoreUint32(r.cqHead, head+1)
}

// Release gives the completion's buffer back to the kernel.
func (r *Ring) Release(c *Completion) {
	if c.buffer >= 0 {
		r.buffers.give(uint16(c.buffer))
		c.Bytes, c.buffer = nil, -1
	}
}

// Message takes apart what ReceiveMessages has received: control messages and
// bytes, until Release. At the stream's end there are no bytes.
func (r *Ring) Message(c *Completion) (control, payload []byte) {
	const size = int(unsafe.Sizeof(messageHead{}))
	start := size + int(r.message.controlSize)
	if len(c.Bytes) < start {
		return nil, nil
	}
	head := (*messageHead)(unsafe.Pointer(&c.Bytes[0]))
	return c.Bytes[size : size+int(min(uint64(head.controlSize), r.message.controlSize))], c.Bytes[start:]
}

// bufferGroup is the number of the one ring of buffers.
const bufferGroup = 0

// buffers is a ring of receive buffers from which the kernel takes.
type buffers struct {
	area []byte // the ring, a page or more, then the buffers
	ring []buffer
	base int // of the buffers in area
	size int
	tail uint16
}

func newBuffers(r *Ring, count, size int) (*buffers, error) {
	page := unix.Getpagesize()
	base := (count*int(unsafe.Sizeof(buffer{})) + page - 1) / page * page
	area, err := unix.Mmap(-1, 0, base+count*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map receive buffers: %w", err)
	}
	b := &buffers{area: area, base: base, size: size, ring: unsafe.Slice((*buffer)(unsafe.Pointer(&area[0])), count)}
	reg := bufferRegister{address: uint64(uintptr(unsafe.Pointer(&area[0]))), entries: uint32(count), group: bufferGroup}
	if err := r.register(registerBufferRing, unsafe.Pointer(&reg), 1); err != nil {
		return nil, errors.Join(fmt.Errorf("register %d receive buffers: %w", count, err), b.free())
	}
	for i := range count {
		b.give(uint16(i))
	}
	return b, nil
}

func (b *buffers) bytes(id, size int32) []byte {
	start := b.base + int(id)*b.size
	return b.area[start : start+int(size) : start+b.size]
}

func (b *buffers) give(id uint16) {
	slot := &b.ring[b.tail&uint16(len(b.ring)-1)]
	slot.address = uint64(uintptr(unsafe.Pointer(&b.area[b.base+int(id)*b.size])))
	slot.length, slot.id = uint32(b.size), id
	b.tail++
	// The tail is the upper half of a word whose lower half is the first
	// buffer's number, and Go has no atomic store of 16 bits. The kernel reads
	// the tail only in this thread's system calls (deferred task run), which
	// order memory by themselves.
	b.ring[0].tail = b.tail
}

func (b *buffers) free() error {
	if b.area == nil {
		return nil
	}
	err := unix.Munmap(b.area)
	b.area = nil
	return err
}
