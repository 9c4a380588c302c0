// Package floor is what a load generator cannot be cheaper than, short of
// other system calls: a closed loop over epoll that writes a fixed request,
// reads what comes, and neither parses nor measures anything.
package floor

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// A Result is what the loop has done.
type Result struct {
	Requests int64 `json:"requests"`
	BytesIn  int64 `json:"bytesIn"`
	// Broken counts reads that did not hold exactly one answer: where it is
	// not 0, the loop was no closed loop and means nothing.
	Broken int64 `json:"broken"`
}

const request = "GET / HTTP/1.1\r\nHost: gatemark\r\n\r\n"

// Run drives that many connections for a while. It is meant to have the
// calling thread to itself.
func Run(address string, connections int, d time.Duration) (Result, error) {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return Result{}, fmt.Errorf("address: %w", err)
	}
	l := loop{until: time.Now().Add(d)}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return Result{}, fmt.Errorf("make an epoll: %w", err)
	}
	defer unix.Close(l.epoll)
	for i := range connections {
		fd, err := l.open(target)
		if err != nil {
			return l.Result, fmt.Errorf("open connection %d of %d: %w", i+1, connections, err)
		}
		defer unix.Close(fd)
	}
	return l.Result, l.run()
}

type loop struct {
	Result
	epoll  int
	until  time.Time
	answer int // the size of each
}

// open connects, sends the first request and has it watched.
func (l *loop) open(target netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()}); err != nil {
		return fd, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fd, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return fd, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fd, err
	}
	return fd, send(fd)
}

func (l *loop) run() error {
	events := make([]unix.EpollEvent, 512)
	buffer := make([]byte, 16<<10)
	for time.Now().Before(l.until) {
		n, err := unix.EpollWait(l.epoll, events, 100)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for answers: %w", err)
		}
		for _, e := range events[:n] {
			if err := l.turn(int(e.Fd), buffer); err != nil {
				return fmt.Errorf("after %d answers: %w", l.Requests, err)
			}
		}
	}
	return nil
}

// turn takes an answer and sends the next request.
func (l *loop) turn(fd int, buffer []byte) error {
	n, err := receive(fd, buffer)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("the server has closed a connection")
	}
	if l.answer == 0 {
		l.answer = n
	}
	if n != l.answer {
		l.Broken++
	}
	l.Requests++
	l.BytesIn += int64(n)
	return send(fd)
}
