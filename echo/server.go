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

	"github.com/gatemark/gatemark/echo/clock"
	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/echo/fault"
)

// Options say who the server is, where it listens, and what it does wrong.
type Options struct {
	// Listen is the address for requests. Default ":8080".
	Listen string
	// TLS is the port for requests over TLS. Without an address there is none.
	TLS TLS
	// Admin is the address for counters, health and faults. Empty for none.
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
	// Faults are in force from the start.
	Faults fault.Faults
	// EventStatus answers CloudEvents. Default 202.
	EventStatus int
}

func (o *Options) setDefaults() error {
	if o.Listen == "" {
		o.Listen = ":8080"
	}
	if o.EventStatus == 0 {
		o.EventStatus = http.StatusAccepted
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
	options      Options
	started      time.Time
	ports        []*port
	admin        net.Listener // nil for none
	identity     []byte       // the header fields that every response carries
	names2       []byte       // the same in HTTP/2, without the content's type
	contentType2 []byte       // the content's type
	http2        http2Conns   // those that are open
	clock        *clock.Clock

	counters counters
	health   healthCounters
	events   *events.Receiver
	applied  delays // what requests really waited

	changing sync.Mutex // held by a request to change faults
	setting  sync.Mutex // held while faults or ports change
	faults   atomic.Pointer[fault.Set]
	totals   fault.Totals
	refusing bool // whether the ports are closed by a fault

	ready atomic.Bool
	// closing makes every connection close after its next response, and
	// stopped is closed when nobody may wait any longer.
	closing atomic.Bool
	stopped chan struct{}

	mu    sync.Mutex
	wires map[*wire]struct{} // nil once the server has stopped
	wait  sync.WaitGroup
}

// Listen opens the server's ports.
func Listen(o Options) (*Server, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		options: o, started: time.Now(), identity: identity(o), events: events.NewReceiver(),
		wires: map[*wire]struct{}{}, stopped: make(chan struct{}),
	}
	s.applied.init()
	s.names2 = appendField(appendField(nil, "gatemark-pod", o.Pod), "gatemark-instance", o.Instance)
	s.contentType2 = appendField(nil, "content-type", "text/plain")
	set, err := fault.Compile(o.Faults, &s.totals)
	if err != nil {
		return nil, err
	}
	s.faults.Store(set)
	if s.clock, err = clock.New(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, errors.Join(err, s.closePorts(), s.clock.Close())
	}
	return s, nil
}

func (s *Server) listen() error {
	secure, err := s.options.TLS.config(s.options.Pod)
	if err != nil {
		return err
	}
	plain := &port{address: s.options.Listen}
	s.ports = append(s.ports, plain)
	if err := plain.open(); err != nil {
		return fmt.Errorf("listen for requests: %w", err)
	}
	if s.options.TLS.Listen != "" {
		p := &port{address: s.options.TLS.Listen, tls: secure}
		s.ports = append(s.ports, p)
		if err := p.open(); err != nil {
			return fmt.Errorf("listen for requests over TLS: %w", err)
		}
	}
	if s.options.Admin != "" {
		if s.admin, err = net.Listen("tcp", s.options.Admin); err != nil {
			return fmt.Errorf("listen for the admin: %w", err)
		}
	}
	return nil
}

// closePorts closes the ports for requests.
func (s *Server) closePorts() error {
	var errs []error
	for _, p := range s.ports {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
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
func (s *Server) Address() net.Addr { return s.ports[0].bound }

// TLSAddress is where requests over TLS are answered, or nil.
func (s *Server) TLSAddress() net.Addr {
	if len(s.ports) < 2 {
		return nil
	}
	return s.ports[1].bound
}

// AdminAddress is where counters, health and faults are, or nil.
func (s *Server) AdminAddress() net.Addr {
	if s.admin == nil {
		return nil
	}
	return s.admin.Addr()
}

// Serve answers until the context ends and the time to drain has passed. Then
// it closes its ports and its connections, and returns nil.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	for _, p := range s.ports {
		s.accept(p)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watchPorts()
	}()
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
	err = errors.Join(err, s.stop(), admin.Close())
	<-watched
	return errors.Join(err, s.clock.Close())
}

// lastResponses is how long clients have, once the ports are closed, to fetch
// a last response that tells them to reconnect.
const lastResponses = 100 * time.Millisecond

func (s *Server) stop() error {
	s.closing.Store(true)
	s.setting.Lock() // no port opens again
	err := s.closePorts()
	s.setting.Unlock()
	if s.options.Drain > 0 {
		s.http2.goAway()
		time.Sleep(lastResponses)
	}
	close(s.stopped)
	s.faults.Load().Replace() // who is stalled, and watchPorts
	s.mu.Lock()
	wires := s.wires
	s.wires = nil
	s.mu.Unlock()
	for w := range wires {
		w.Close() // its goroutine sees the error
	}
	s.wait.Wait()
	return err
}
