package known

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Options say what the server does to requests.
type Options struct {
	Delay Delay
	// Pieces is how many pieces the body comes in, Gap the time between
	// them; one piece has no gap.
	Pieces int
	Gap    time.Duration
	// FailEvery and ResetEvery name the requests that fail: each n-th, over
	// all connections; 0 is none.
	FailEvery, ResetEvery int64
	Seed                  uint64
	// Spin looks for requests without ever sleeping: a processor that sleeps
	// takes tens of microseconds to wake up, on a virtual machine.
	Spin bool
}

// A Server is one event loop. Run is its whole life.
type Server struct {
	o        Options
	epoll    int
	listener int
	timer    int
	stop     int // an eventfd
	conns    map[int]*conn
	due      queue
	random   *rand.Rand
	records  []Record
	// armed is the instant that the timer stands at, 0 if none.
	armed   int64
	scratch []byte
	control []byte
}

// Listen makes a server on an address.
func Listen(address string, o Options) (_ *Server, err error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	s := &Server{
		o: o, conns: map[int]*conn{}, random: rand.New(rand.NewPCG(o.Seed, 1)), scratch: make([]byte, 0, 512),
		epoll: -1, listener: -1, timer: -1, stop: -1, control: make([]byte, 256), records: make([]Record, 0, 1<<16),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make an epoll: %w", err)
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	if s.stop, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	if s.listener, err = listen(at); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	for _, fd := range []int{s.timer, s.stop, s.listener} {
		if err := s.watch(fd); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func listen(at netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	const backlog = 16384
	return fd, errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		// Connections inherit it.
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}),
		unix.Listen(fd, backlog),
	)
}

func (s *Server) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("watch a descriptor: %w", err)
	}
	return nil
}

// Port is the port that the server listens on.
func (s *Server) Port() (int, error) {
	name, err := unix.Getsockname(s.listener)
	if err != nil {
		return 0, err
	}
	at, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the listener has an address of type %T", name)
	}
	return at.Port, nil
}

// Stop makes Run return. It may be called from any goroutine.
func (s *Server) Stop() error {
	_, err := unix.Write(s.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return err
}

// Run serves until Stop, closes everything, and returns a record of each
// request in the order in which they were read.
func (s *Server) Run() (_ []Record, err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	events := make([]unix.EpollEvent, 256)
	patience := -1
	if s.o.Spin {
		patience = 0
	}
	for {
		n, err := unix.EpollWait(s.epoll, events, patience)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return s.records, fmt.Errorf("wait for events: %w", err)
		}
		for _, e := range events[:n] {
			switch fd := int(e.Fd); fd {
			case s.stop:
				return s.records, nil
			case s.listener:
				err = s.accept()
			case s.timer:
				err = s.tick()
			default:
				if c := s.conns[fd]; c != nil {
					s.readable(c)
				}
			}
			if err != nil {
				return s.records, err
			}
		}
		if err := s.fire(); err != nil {
			return s.records, err
		}
	}
}

func (s *Server) accept() error {
	for {
		fd, from, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return fmt.Errorf("accept connection %d: %w", len(s.conns)+1, err)
		}
		c := &conn{fd: fd, record: none}
		if at, ok := from.(*unix.SockaddrInet4); ok {
			c.port = uint16(at.Port)
		}
		s.conns[fd] = c
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), s.watch(fd)); err != nil {
			return err
		}
	}
}

// tick empties the timer. What is due is then done by fire.
func (s *Server) tick() error {
	s.armed = 0
	var expirations [8]byte
	if _, err := unix.Read(s.timer, expirations[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("read the timer: %w", err)
	}
	return nil
}

// fire does what is due and sets the timer to what is due next. Timers of
// this kind have no slack.
func (s *Server) fire() error {
	for s.due.Len() > 0 && s.due.next() <= now() {
		s.answer(s.due.take())
	}
	if s.due.Len() == 0 || s.due.next() == s.armed {
		return nil
	}
	s.armed = s.due.next()
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(s.armed)}
	if err := unix.TimerfdSettime(s.timer, unix.TFD_TIMER_ABSTIME, &at, nil); err != nil {
		return fmt.Errorf("set the timer: %w", err)
	}
	return nil
}

func (s *Server) close() error {
	var all []error
	for fd := range s.conns {
		all = append(all, unix.Close(fd))
	}
	clear(s.conns)
	for _, fd := range []int{s.epoll, s.listener, s.timer, s.stop} {
		if fd >= 0 {
			all = append(all, unix.Close(fd))
		}
	}
	return errors.Join(all...)
}

func now() int64 { return time.Now().UnixNano() }
