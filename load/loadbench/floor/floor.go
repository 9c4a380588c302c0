// Package floor is what a load generator cannot be cheaper than, short of
// other system calls: a closed loop over epoll or io_uring that writes a fixed
// request, takes what comes, and neither parses nor measures anything.
package floor

import (
	"errors"
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

// request is what is sent. It is never written to.
var request = []byte("GET / HTTP/1.1\r\nHost: gatemark\r\n\r\n")

// An engine drives connections that are open and idle.
type engine interface {
	// begin has the connection watched and sends its first request.
	begin(number, fd int) error
	// turn waits a little for answers, and sends a request for each.
	turn(*loop) error
	close() error
}

// errClosed is what the engines say of a server that hangs up.
var errClosed = errors.New("the server has closed a connection")

type loop struct {
	Result
	answer int // the size of each
}

// took counts an answer.
func (l *loop) took(n int) {
	if l.answer == 0 {
		l.answer = n
	}
	if n != l.answer {
		l.Broken++
	}
	l.Requests++
	l.BytesIn += int64(n)
}

// Run drives that many connections for a while, with "epoll" or "io_uring".
// The calling goroutine must be locked to its thread.
func Run(name, address string, connections int, d time.Duration) (_ Result, err error) {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return Result{}, fmt.Errorf("address: %w", err)
	}
	var e engine
	switch name {
	case "epoll":
		e, err = newEpoll()
	case "io_uring":
		e, err = newURing(connections)
	default:
		err = fmt.Errorf("engine %q is neither epoll nor io_uring", name)
	}
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	until := time.Now().Add(d)
	for i := range connections {
		fd, err := open(target)
		if err != nil {
			return Result{}, fmt.Errorf("open connection %d of %d: %w", i+1, connections, err)
		}
		defer unix.Close(fd)
		if err := e.begin(i, fd); err != nil {
			return Result{}, fmt.Errorf("begin with connection %d of %d: %w", i+1, connections, err)
		}
	}
	var l loop
	for time.Now().Before(until) {
		if err := e.turn(&l); err != nil {
			return l.Result, fmt.Errorf("after %d answers: %w", l.Requests, err)
		}
	}
	return l.Result, nil
}

// open connects.
func open(target netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()})
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil { // as the load engine does
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
