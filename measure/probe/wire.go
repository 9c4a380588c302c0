package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A wire is a nonblocking byte stream on a socket. Its methods return
// unix.EAGAIN where they would have to wait; the poller tells when to try
// again.
type wire interface {
	descriptor() int
	// write may return EAGAIN because the connection is not there yet.
	write(data []byte) (int, error)
	// read returns 0 at the end of the stream.
	read(buffer []byte) (int, error)
	// close resets the connection, so that its local port is free at once.
	close()
}

// plain is TCP as it is.
type plain int

// dial begins to connect.
func dial(address netip.AddrPort) (plain, error) {
	family, destination := socketAddress(address)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	p := plain(fd)
	// Closing resets: no TIME_WAIT, which would hold the port for a minute.
	err = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err != nil {
		p.close()
		return 0, fmt.Errorf("set socket option: %w", err)
	}
	if err := unix.Connect(fd, destination); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		p.close()
		return 0, fmt.Errorf("connect: %w", err)
	}
	return p, nil
}

func socketAddress(address netip.AddrPort) (family int, _ unix.Sockaddr) {
	if ip := address.Addr().Unmap(); ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(address.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(address.Port()), Addr: address.Addr().As16()}
}

func (p plain) descriptor() int { return int(p) }

func (p plain) write(data []byte) (int, error) {
	return retry(unix.SYS_WRITE, p, data)
}

func (p plain) read(buffer []byte) (int, error) {
	return retry(unix.SYS_READ, p, buffer)
}

// retry calls again where a signal came between. The calls do not block, so the
// runtime is not told of them: it could give this thread's processor away
// meanwhile, and getting it back takes time on a busy machine.
func retry(call uintptr, p plain, buffer []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(p), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// close cannot fail in a way that matters: the descriptor is gone either way.
func (p plain) close() { unix.RawSyscall(unix.SYS_CLOSE, uintptr(p), 0, 0) }
