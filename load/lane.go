package load

import (
	"crypto/tls"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A lane is one loop's connections to one endpoint, and the requests that wait
// for one of them.
type lane struct {
	loop     *loop
	endpoint *endpoint
	tls      *tls.Config // nil for plain connections
	conns    []*conn
	// free lists connections with room, the longest unused first: all get
	// their turn.
	free queue[*conn]
	// due lists requests that should have been sent and found no connection.
	due queue[pending]
	// addresses are the endpoint's, as the kernel wants them.
	addresses []sockaddr
	requests  []*Request // of a closed loop, which take turns
	turn      int
}

// A pending request is due and not sent.
type pending struct {
	number  uint64
	due     int64
	request *Request
	tally   *tally
}

// sockaddr is a struct sockaddr_in or sockaddr_in6.
type sockaddr struct {
	raw  unix.RawSockaddrInet6
	size int
}

func newSockaddr(a netip.AddrPort) sockaddr {
	var s sockaddr
	port := [2]byte{byte(a.Port() >> 8), byte(a.Port())}
	if ip := a.Addr().Unmap(); ip.Is4() {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(&s.raw))
		*four = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: ip.As4()}
		s.size = unix.SizeofSockaddrInet4
		return s
	}
	s.raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: a.Addr().As16()}
	s.size = unix.SizeofSockaddrInet6
	return s
}

// sockaddr is where a connection goes: connections spread over what the
// endpoint's name resolves to.
func (a *lane) sockaddr(slot int) *sockaddr { return &a.addresses[slot%len(a.addresses)] }

// socket makes a socket that is ready to be connected.
func (a *lane) socket(slot int) (int, error) {
	to := a.sockaddr(slot)
	fd, err := unix.Socket(int(to.raw.Family), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := a.configure(fd); err != nil {
		return -1, closeAfter(fd, err)
	}
	return fd, nil
}

func (a *lane) configure(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	l := a.loop
	if l.attack.light {
		// Nothing holds back what fits into the first window, so that it needs no
		// algorithm that models the path at each acknowledgement. Where the kernel
		// forbids the choice, its own does as well.
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}
	if l.stamped {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
			return err
		}
	}
	if l.fresh > 0 {
		// Closed by reset: a port that lingers in TIME_WAIT is lost for a minute.
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			return err
		}
	}
	sources := l.options.Sources
	if len(sources) == 0 {
		return nil
	}
	l.source++
	// The port is chosen when the destination is known, so that one port
	// serves many of them.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	from := newSockaddr(netip.AddrPortFrom(sources[l.source%len(sources)], 0))
	_, _, errno := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&from.raw)), uintptr(from.size))
	if errno != 0 {
		return errno
	}
	return nil
}

func closeAfter(fd int, err error) error {
	_ = unix.Close(fd) // the error that matters is the first
	return err
}

// list notes that a connection can be used.
func (a *lane) list(c *conn) {
	if !c.listed {
		c.listed = true
		a.free.push(c)
	}
}

// take returns a connection that can be used, or nil.
func (a *lane) take(now int64) *conn {
	for a.free.length() > 0 {
		c := a.free.pop()
		c.listed = false
		switch {
		case !c.usable():
		case c.rested > now:
			a.loop.resting.push(c)
		default:
			return c
		}
	}
	return nil
}

// offer gives a connection with room the requests that wait for it, and lists
// it if room is left.
func (a *lane) offer(c *conn) {
	for c.usable() && c.rested <= a.loop.now {
		p, ok := a.pop()
		if !ok {
			break
		}
		a.loop.start(c, p, a.loop.now)
	}
	if c.usable() {
		if c.rested > a.loop.now {
			a.loop.resting.push(c)
			return
		}
		a.list(c)
	}
}

// pop is the next request that waits: of an open loop the oldest that is due,
// of a closed loop always another.
func (a *lane) pop() (pending, bool) {
	l := a.loop
	if l.options.Rate == nil {
		return l.another(a)
	}
	for a.due.length() > 0 {
		p := a.due.pop()
		if l.now-p.due < l.timeout {
			return p, true
		}
		l.drop(p)
	}
	return pending{}, false
}

// A queue is first in, first out.
type queue[T any] struct {
	items []T // a ring: length is a power of two
	head  int
	count int
}

func (q *queue[T]) length() int { return q.count }

func (q *queue[T]) push(item T) {
	if q.count == len(q.items) {
		grown := make([]T, max(16, 2*len(q.items)))
		n := copy(grown, q.items[q.head:])
		copy(grown[n:], q.items[:q.head])
		q.items, q.head = grown, 0
	}
	q.items[(q.head+q.count)&(len(q.items)-1)] = item
	q.count++
}

func (q *queue[T]) front() T { return q.items[q.head] }

func (q *queue[T]) pop() T {
	var zero T
	item := q.items[q.head]
	q.items[q.head] = zero
	q.head = (q.head + 1) & (len(q.items) - 1)
	q.count--
	return item
}
