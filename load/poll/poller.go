package poll

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Poller is an epoll instance that can be woken up, and that sleeps with
// nanosecond timeouts.
type Poller struct {
	epoll, wake int
	ready       [64]unix.EpollEvent
	// coarse is set where the kernel has no epoll_pwait2 (before 5.11).
	coarse bool
	// Selfish keeps the Go runtime's processor while sleeping: see thread.go.
	Selfish bool
	// limit is the timeout: on the stack it would be allocated each time.
	limit unix.Timespec
}

// forever is a timeout that is none.
const forever = time.Duration(math.MaxInt64) / 2

// wakePlace is the place of the descriptor that wakes the poller up.
const wakePlace = -1

// New makes one.
func New() (*Poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create eventfd: %w", err), unix.Close(epoll))
	}
	p := &Poller{epoll: epoll, wake: wake}
	if err := p.Add(wake, wakePlace, 0); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Add watches a descriptor until it is closed.
func (p *Poller) Add(fd, place int, tag uint32) error {
	event := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(place), Pad: int32(tag),
	}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// Wake ends a sleep, or the next one. Any thread may call it.
func (p *Poller) Wake() error {
	one := [8]byte{0: 1}
	// A full counter means that it is about to wake up.
	if _, err := unix.Write(p.wake, one[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("wake poller: %w", err)
	}
	return nil
}

// Wait sleeps until something happens, or for the time given at most, and
// hands every event to handle.
func (p *Poller) Wait(timeout time.Duration, handle func(place int, tag, flags uint32)) error {
	n, err := p.sleep(max(timeout, 0))
	if err != nil {
		if errors.Is(err, unix.EINTR) {
			return nil
		}
		return fmt.Errorf("wait for sockets: %w", err)
	}
	for i := range n {
		event := &p.ready[i]
		if event.Fd == wakePlace {
			var drain [8]byte
			if _, err := unix.Read(p.wake, drain[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
				return fmt.Errorf("drain wake-ups: %w", err)
			}
			continue
		}
		handle(int(event.Fd), uint32(event.Pad), event.Events)
	}
	return nil
}

func (p *Poller) sleep(timeout time.Duration) (int, error) {
	if !p.coarse {
		n, err := p.sleepExactly(timeout)
		if !errors.Is(err, unix.ENOSYS) {
			return n, err
		}
		p.coarse = true
	}
	// Round down: better to look a few times for nothing than to be late.
	milliseconds := min(timeout/time.Millisecond, 1000)
	return unix.EpollWait(p.epoll, p.ready[:], int(milliseconds))
}

func (p *Poller) sleepExactly(timeout time.Duration) (int, error) {
	var limit *unix.Timespec
	if timeout < forever {
		p.limit = unix.NsecToTimespec(int64(timeout))
		limit = &p.limit
	}
	call := unix.Syscall6
	if p.Selfish {
		// The runtime's signals still end the sleep, so that it can stop the
		// world at any time.
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll),
		uintptr(unsafe.Pointer(&p.ready[0])), uintptr(len(p.ready)), uintptr(unsafe.Pointer(limit)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Close gives the descriptors back.
func (p *Poller) Close() error {
	return errors.Join(unix.Close(p.wake), unix.Close(p.epoll))
}
