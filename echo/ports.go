package echo

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gatemark/gatemark/echo/fault"
)

// A port is open unless a fault refuses connections.
type port struct {
	address string
	tls     *tls.Config // nil for none
	bound   net.Addr    // what address became

	mu       sync.Mutex
	listener net.Listener // nil while closed
}

// open opens the port, always with the number that it had first.
func (p *port) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	address := p.address
	if p.bound != nil {
		address = p.bound.String()
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p.listener = listener
	if p.bound == nil { // others read it without the lock
		p.bound = listener.Addr()
	}
	return nil
}

func (p *port) current() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener
}

func (p *port) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return nil
	}
	err := p.listener.Close()
	p.listener = nil
	return err
}

// accept serves a port's connections until it is closed.
func (s *Server) accept(p *port) {
	if listener := p.current(); listener != nil {
		go func() {
			for s.acceptOne(p, listener) {
			}
		}()
	}
}

func (s *Server) acceptOne(p *port, listener net.Listener) bool {
	conn, err := listener.Accept()
	switch {
	case err == nil:
		if w := s.add(conn.(*net.TCPConn)); w != nil {
			go s.serve(w, p.tls)
		}
		return true
	case errors.Is(err, net.ErrClosed):
		return false
	}
	// Out of descriptors, or a connection that ended before it was accepted.
	// Neither is a reason to stop.
	s.counters.acceptErrors.Add(1)
	time.Sleep(5 * time.Millisecond)
	return true
}

// watchPorts closes and opens the ports as the rules that refuse have it.
func (s *Server) watchPorts() {
	for {
		set := s.faults.Load()
		next := s.setPorts(set)
		if next.IsZero() {
			next = fault.Forever
		}
		s.clock.Wait(next, set.Replaced())
		if s.closing.Load() {
			return
		}
	}
}

// retryListen is how soon a port is tried again that could not be opened.
const retryListen = 20 * time.Millisecond

// setPorts brings the ports into the state that the set wants now, and returns
// when to ask again, the zero time for never.
func (s *Server) setPorts(set *fault.Set) time.Time {
	s.setting.Lock()
	defer s.setting.Unlock()
	now := time.Now()
	refused, reset, next := set.Refused(now)
	if s.closing.Load() || s.faults.Load() != set {
		return time.Time{}
	}
	for _, p := range s.ports {
		open := p.current() != nil
		switch {
		case refused && open:
			if err := p.close(); err != nil {
				s.counters.acceptErrors.Add(1)
			}
		case !refused && !open:
			if err := p.open(); err != nil {
				s.counters.acceptErrors.Add(1)
				next = now.Add(retryListen)
				continue
			}
			s.accept(p)
		}
	}
	if refused && !s.refusing {
		s.totals.Add(fault.RefuseKind)
	}
	s.refusing = refused
	if reset {
		s.resetAll()
	}
	return next
}

func (s *Server) resetAll() {
	s.mu.Lock()
	var all []*wire
	for w := range s.wires {
		all = append(all, w)
	}
	s.mu.Unlock()
	for _, w := range all {
		w.reset()
	}
}
