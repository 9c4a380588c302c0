package floor

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll waits, then receives and sends for each connection that is ready. It
// uses raw system calls: the thread is its own, and Go's scheduler need not
// hear of them.
type epoll struct {
	fd     int
	events []unix.EpollEvent
	buffer []byte
}

func newEpoll() (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll: %w", err)
	}
	return &epoll{fd: fd, events: make([]unix.EpollEvent, 512), buffer: make([]byte, 16<<10)}, nil
}

func (e *epoll) begin(_, fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return err
	}
	return send(fd)
}

func (e *epoll) turn(l *loop) error {
	const wait = 100 // milliseconds
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), wait, 0, 0)
	if errno == unix.EINTR {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("wait for answers: %w", errno)
	}
	for i := range e.events[:n] {
		fd := int(e.events[i].Fd)
		size, err := receive(fd, e.buffer)
		if err != nil {
			return err
		}
		l.took(size)
		if err := send(fd); err != nil {
			return err
		}
	}
	return nil
}

func (e *epoll) close() error { return unix.Close(e.fd) }

func send(fd int) error {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&request[0])), uintptr(len(request)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return fmt.Errorf("send: %w", errno)
	}
	if int(n) != len(request) {
		return fmt.Errorf("sent %d of %d bytes", n, len(request))
	}
	return nil
}

func receive(fd int, into []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)), 0, 0, 0)
	if errno != 0 {
		return 0, fmt.Errorf("receive: %w", errno)
	}
	if n == 0 {
		return 0, errClosed
	}
	return int(n), nil
}
