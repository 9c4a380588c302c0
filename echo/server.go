package echo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Options say who the server is and where it listens.
type Options struct {
	// Listen is the address for requests. Default ":8080".
	Listen string
	// Admin is the address for counters and health. Empty for none.
	Admin string
	// Pod is the name in marker.PodHeader. Default is the host's name, which
	// in a pod is the pod's.
	Pod string
	// Instance is the value of marker.InstanceHeader. Default is random, so
	// that it differs with each start.
	Instance string
	// Drain is how long requests are still served after the context of Serve
	// has ended, while the server says that it is not ready: a cluster needs
	// time to stop sending them.
	Drain time.Duration
}

func (o *Options) setDefaults() error {
	if o.Listen == "" {
		o.Listen = ":8080"
	}
	if o.Pod == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find a name for the pod: %w", err)
		}
		o.Pod = name
	}
	if o.Instance == "" {
		var random [4]byte
		rand.Read(random[:])
		o.Instance = hex.EncodeToString(random[:])
	}
	return nil
}

// A Server answers requests.
type Server struct {
	options  Options
	started  time.Time
	listener net.Listener
	admin    net.Listener // nil for none
	identity []byte       // the header fields that every response carries

	counters counters
	ready    atomic.Bool
	// closing makes every connection close after its next response.
	closing atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once the server has stopped
	wait  sync.WaitGroup
}

// Listen opens the server's ports.
func Listen(o Options) (*Server, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{options: o, started: time.Now(), identity: identity(o), conns: map[net.Conn]struct{}{}}
	var err error
	if s.listener, err = net.Listen("tcp", o.Listen); err != nil {
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	if o.Admin != "" {
		if s.admin, err = net.Listen("tcp", o.Admin); err != nil {
			return nil, errors.Join(fmt.Errorf("listen for the admin: %w", err), s.listener.Close())
		}
	}
	return s, nil
}

// Serve listens and serves until the context ends.
func Serve(ctx context.Context, o Options) error {
	s, err := Listen(o)
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

// Address is where requests are answered.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// AdminAddress is where counters and health are, or nil.
func (s *Server) AdminAddress() net.Addr {
	if s.admin == nil {
		return nil
	}
	return s.admin.Addr()
}

// Serve answers until the context ends and the time to drain has passed. Then
// it closes its ports and its connections, and returns nil.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 2)
	go func() { failed <- s.accept() }()
	admin := &http.Server{Handler: s.adminHandler(), ReadHeaderTimeout: 10 * time.Second}
	if s.admin != nil {
		go func() { failed <- admin.Serve(s.admin) }()
	}
	s.ready.Store(true)
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.ready.Store(false)
		select {
		case <-time.After(s.options.Drain):
		case err = <-failed:
		}
	}
	return errors.Join(err, s.stop(), admin.Close())
}

// lastResponses is how long clients have, once the ports are closed, to fetch
// a last response that tells them to reconnect.
const lastResponses = 100 * time.Millisecond

func (s *Server) stop() error {
	s.closing.Store(true)
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if s.options.Drain > 0 {
		time.Sleep(lastResponses)
	}
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close() // its goroutine sees the error
	}
	s.conns = nil
	s.mu.Unlock()
	s.wait.Wait()
	return err
}

func (s *Server) accept() error {
	for {
		conn, err := s.listener.Accept()
		switch {
		case err == nil:
			s.counters.accepted.Add(1)
			if s.add(conn) {
				go s.serve(conn)
			}
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			// Out of descriptors, or a connection that ended before it was
			// accepted. Neither is a reason to stop.
			s.counters.acceptErrors.Add(1)
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (s *Server) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		conn.Close()
		return false
	}
	s.conns[conn] = struct{}{}
	s.wait.Add(1)
	return true
}

func (s *Server) remove(conn net.Conn) {
	conn.Close() // the peer may have gone first
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	s.wait.Done()
}

func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
