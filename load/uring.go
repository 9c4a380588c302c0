package load

import (
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/load/ring"
)

// uring is the poller on io_uring: what was begun in a turn and the wait for
// what comes are one system call. Receives stay armed.
type uring struct {
	loop       *loop
	ring       *ring.Ring
	wakeFd     int
	registered []bool // by slot: the descriptor is registered
	closing    int    // descriptors that the kernel is closing
}

// What a completion is of: the upper 8 bits of its data. Below are 24 bits of
// the connection's generation and 32 of its slot.
const (
	ofConnect uint64 = iota + 1
	ofSend
	ofReceive
	ofWake
	ofCancel
	ofClose
)

func token(of uint64, c *conn) uint64 {
	return of<<56 | uint64(c.generation&0xffffff)<<32 | uint64(uint32(c.slot))
}

func newURing(l *loop) (*uring, error) {
	o := ring.Options{Entries: 256, Completions: 4096, Buffers: 128, BufferSize: 8 << 10, ControlSize: controlSize}
	if l.fresh == 0 {
		o.Files = len(l.conns)
	}
	r, err := ring.New(o)
	if err != nil {
		return nil, err
	}
	u := &uring{loop: l, ring: r, registered: make([]bool, len(l.conns))}
	if u.wakeFd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, errors.Join(fmt.Errorf("create eventfd: %w", err), r.Close())
	}
	r.Watch(int32(u.wakeFd), ofWake<<56)
	return u, nil
}

func (u *uring) file(c *conn) ring.File {
	if u.registered[c.slot] {
		return ring.File{FD: int32(c.slot), Registered: true}
	}
	return ring.File{FD: int32(c.fd)}
}

func (u *uring) connect(c *conn, to *sockaddr) error {
	u.registered[c.slot] = u.loop.fresh == 0 && u.ring.SetFile(c.slot, int32(c.fd)) == nil
	u.ring.Connect(u.file(c), unsafe.Pointer(&to.raw), to.size, token(ofConnect, c))
	return nil
}

func (u *uring) send(c *conn, quiet bool) error {
	u.ring.Send(u.file(c), c.sending, quiet, token(ofSend, c))
	return nil
}

func (u *uring) disconnect(c *conn) {
	// The descriptor itself is closed last: the kernel knows the socket by it.
	under := ofReceive
	if c.state == connecting {
		under = ofConnect
	}
	u.ring.Disconnect(int32(c.fd), token(under, c), ofCancel<<56, ofClose<<56)
	u.closing++
	if u.registered[c.slot] {
		u.registered[c.slot] = false
		// What was prepared names the place: it must be understood first.
		_ = u.ring.Submit()
		if err := u.ring.SetFile(c.slot, -1); err != nil {
			u.loop.attack.fail(fmt.Errorf("forget a registered descriptor: %w", err))
		}
	}
}

// batch: in an open loop those due first must not wait for many others.
func (u *uring) batch() int {
	if u.loop.options.Rate == nil {
		return 64
	}
	return 8
}

func (u *uring) submit() error {
	if u.ring.Prepared() == 0 {
		return nil
	}
	return u.ring.Submit()
}

func (u *uring) wait(timeout time.Duration) error {
	if u.ring.Ready() > 0 {
		timeout = 0
	}
	if err := u.ring.Wait(timeout); err != nil {
		return err
	}
	// All that is there now came before this instant.
	at := u.loop.clock()
	var k ring.Completion
	for n := u.ring.Ready(); n > 0; n-- {
		u.ring.Take(&k)
		u.loop.now = at
		err := u.completed(&k)
		u.ring.Release(&k)
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *uring) completed(k *ring.Completion) error {
	of := k.Data >> 56
	switch of {
	case ofWake:
		var drain [8]byte
		if _, err := unix.Read(u.wakeFd, drain[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
			return fmt.Errorf("drain wake-ups: %w", err)
		}
		u.ring.Watch(int32(u.wakeFd), ofWake<<56)
		return nil
	case ofCancel:
		return nil // nothing was there to be cancelled
	case ofClose:
		u.closing--
		return nil
	}
	c := u.loop.conns[uint32(k.Data)]
	if uint64(c.generation&0xffffff) != k.Data>>32&0xffffff {
		return nil // of an earlier socket
	}
	switch of {
	case ofConnect:
		generation := c.generation
		c.connected(errnoOf(k.Result))
		if c.generation == generation && c.state != closed {
			u.arm(c)
		}
	case ofSend:
		u.sent(c, k.Result)
	case ofReceive:
		u.received(c, k)
	}
	return nil
}

// sent takes the outcome of a send. The kernel sends all or fails, but for a
// connection that breaks in the middle.
func (u *uring) sent(c *conn, n int32) {
	switch {
	case n < 0:
		c.sent(errnoOf(n))
	case int(n) < len(c.sending):
		c.sent(io.ErrShortWrite)
	default:
		c.sent(nil)
	}
}

func (u *uring) received(c *conn, k *ring.Completion) {
	generation := c.generation
	switch {
	case k.Result >= 0:
		if data := u.content(k); len(data) > 0 {
			c.received(data)
		} else {
			c.end(io.EOF)
		}
	case -k.Result == int32(unix.ENOBUFS):
		// All buffers are taken: armed again below.
	default:
		c.end(errnoOf(k.Result))
	}
	if !k.More && c.generation == generation && c.state != closed {
		u.arm(c)
	}
}

// arm lets the kernel take what comes from now on.
func (u *uring) arm(c *conn) {
	if u.loop.stamped {
		u.ring.ReceiveMessages(u.file(c), token(ofReceive, c))
	} else {
		u.ring.Receive(u.file(c), token(ofReceive, c))
	}
}

// content takes a completed receive apart, and notes when it came.
func (u *uring) content(k *ring.Completion) []byte {
	if !u.loop.stamped {
		return k.Bytes
	}
	control, payload := u.ring.Message(k)
	if real, ok := stampIn(control); ok {
		u.loop.now = u.loop.arrived(real, u.loop.now)
	}
	return payload
}

func errnoOf(result int32) unix.Errno {
	if result < 0 {
		return unix.Errno(-result)
	}
	return 0
}

func (u *uring) wake() error { return wake(u.wakeFd) }

// closeLimit bounds how often the kernel is asked whether it has closed
// everything.
const closeLimit = 1000

func (u *uring) close() error {
	var err error
	for i := 0; u.closing > 0 && err == nil; i++ {
		if i == closeLimit {
			err = fmt.Errorf("%d connections were not closed", u.closing)
			break
		}
		err = u.wait(time.Millisecond)
	}
	return errors.Join(err, u.ring.Close(), unix.Close(u.wakeFd))
}
