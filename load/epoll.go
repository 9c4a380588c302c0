package load

import (
	"errors"
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/load/poll"
	"github.com/gatemark/gatemark/load/ring"
)

// epoll is the poller where there is no io_uring.
type epoll struct {
	loop   *loop
	poller *poll.Poller
	read   []byte
	// What a receive with the kernel's instant needs.
	control []byte
	vector  unix.Iovec
	message unix.Msghdr
}

func newEpoll(l *loop) (*epoll, error) {
	p, err := poll.New()
	if err != nil {
		return nil, err
	}
	p.Selfish = true
	e := &epoll{loop: l, poller: p, read: make([]byte, 64<<10), control: make([]byte, controlSize)}
	e.vector.Base = &e.read[0]
	e.vector.SetLen(len(e.read))
	return e, nil
}

func (e *epoll) connect(c *conn, to *sockaddr) error {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(c.fd), uintptr(unsafe.Pointer(&to.raw)), uintptr(to.size))
	if errno != 0 && errno != unix.EINPROGRESS {
		return errno
	}
	return e.poller.Add(c.fd, c.slot, c.generation)
}

func (e *epoll) send(c *conn, quiet bool) error {
	for len(c.sending) > 0 {
		n, errno := write(c.fd, c.sending)
		switch errno {
		case 0:
			c.sending = c.sending[:copy(c.sending, c.sending[n:])]
		case unix.EINTR:
		case unix.EAGAIN:
			c.busy = true // until there is room
			return nil
		default:
			return errno
		}
	}
	c.busy = false
	return nil
}

func (e *epoll) disconnect(c *conn) {
	// An error of close is of no use to anybody: the descriptor is gone.
	_ = unix.Close(c.fd)
}

func (e *epoll) batch() int { return 1 }

func (e *epoll) submit() error { return nil }

func (e *epoll) wait(timeout time.Duration) error {
	if timeout < 0 {
		timeout = time.Duration(never)
	}
	return e.poller.Wait(timeout, e.event)
}

const hangUp = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// event takes what epoll has to say of a connection.
func (e *epoll) event(slot int, generation, flags uint32) {
	c := e.loop.conns[slot]
	if c.generation != generation {
		return
	}
	e.loop.clock()
	if c.state == connecting {
		if flags&(unix.EPOLLOUT|hangUp) == 0 {
			return
		}
		errno, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			c.end(err)
			return
		}
		c.connected(unix.Errno(errno))
	}
	if c.busy && c.generation == generation && flags&unix.EPOLLOUT != 0 {
		if err := e.send(c, false); err != nil {
			c.end(err)
		} else if !c.busy {
			c.sent(nil)
		}
	}
	if flags&(unix.EPOLLIN|hangUp) != 0 {
		e.receive(c, generation, flags&hangUp != 0)
	}
}

// receive takes what has come. A read that leaves room has emptied the socket;
// only the other side's end may be behind it.
func (e *epoll) receive(c *conn, generation uint32, ended bool) {
	for c.generation == generation && c.state != closed {
		n, errno := e.take(c.fd)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			c.end(errno)
			return
		case n == 0:
			c.end(io.EOF)
			return
		}
		c.received(e.read[:n])
		if n < len(e.read) && !ended {
			return
		}
	}
}

// take reads what there is, and notes when it came.
func (e *epoll) take(fd int) (int, unix.Errno) {
	if !e.loop.stamped {
		n, errno := read(fd, e.read)
		e.loop.clock()
		return n, errno
	}
	e.message = unix.Msghdr{Iov: &e.vector, Iovlen: 1, Control: &e.control[0]}
	e.message.SetControllen(len(e.control))
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&e.message)), 0)
	e.loop.clock()
	if errno != 0 {
		return 0, errno
	}
	if real, ok := stampIn(e.control[:e.message.Controllen]); ok {
		e.loop.now = e.loop.arrived(real, e.loop.now)
	}
	return int(n), 0
}

// read and write do not tell Go's scheduler: they never block.
func read(fd int, p []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func write(fd int, p []byte) (int, unix.Errno) {
	const noSignal = unix.MSG_NOSIGNAL
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), noSignal, 0, 0)
	return int(n), errno
}

func (e *epoll) wake() error { return e.poller.Wake() }

func (e *epoll) close() error { return e.poller.Close() }

// wake ends a poller's sleep.
func wake(eventfd int) error {
	one := [8]byte{0: 1}
	// A full counter means that it is about to wake up.
	if _, err := unix.Write(eventfd, one[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return err
	}
	return nil
}

// newPoller makes the poller that an engine stands for.
func newPoller(engine Engine, l *loop) (poller, error) {
	if engine == Epoll {
		return newEpoll(l)
	}
	return newURing(l)
}

// chooseEngine is io_uring where the kernel and the sandbox allow it.
func chooseEngine() Engine {
	if ring.Works() {
		return IOUring
	}
	return Epoll
}
