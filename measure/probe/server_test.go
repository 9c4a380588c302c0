package probe

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/marker"
)

// A server is a data-plane replica whose state the test knows: answer decides
// what each request gets.
type server struct {
	listener net.Listener
	answer   atomic.Pointer[func(*request) string]

	mu       sync.Mutex
	conns    map[net.Conn]bool
	accepted int
	wait     sync.WaitGroup
}

// A request is what the server sees of one.
type request struct {
	conn net.Conn
	// n counts the requests on this connection from 1.
	n int
	// received is when it was complete.
	received time.Time
}

const (
	// These are answers that are none.
	reset  = "reset"  // the connection
	hangUp = "hangup" // in the ordinary way
	hang   = "hang"   // until the other side gives up
)

var (
	oldAnswer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	newMarker = marker.Expect("a", 2)
	newAnswer = answer(200, newMarker)
)

func answer(status int, m marker.Marker) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d x\r\n", status)
	for _, field := range m.Filter() {
		fmt.Fprintf(&b, "%s: %s\r\n", field[0], field[1])
	}
	b.WriteString("Content-Length: 2\r\n\r\nok")
	return b.String()
}

func newServer(t *testing.T, answer func(*request) string) *server {
	t.Helper()
	s, err := listen(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func listen(answer func(*request) string) (*server, error) {
	return listenAt("127.0.0.1:0", answer)
}

func listenAt(address string, answer func(*request) string) (*server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &server{listener: listener, conns: map[net.Conn]bool{}}
	s.answer.Store(&answer)
	s.wait.Add(1)
	go s.accept()
	return s, nil
}

func (s *server) set(answer func(*request) string) { s.answer.Store(&answer) }

func (s *server) target(name string) Target {
	return Target{Name: name, Address: netip.MustParseAddrPort(s.listener.Addr().String())}
}

func (s *server) accept() {
	defer s.wait.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left
			time.Sleep(time.Millisecond)
			continue
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.accepted++
		s.mu.Unlock()
		s.wait.Add(1)
		go s.serve(conn)
	}
}

func (s *server) serve(conn net.Conn) {
	defer s.wait.Done()
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	reader := bufio.NewReader(conn)
	for n := 1; ; n++ {
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
		}
		switch text := (*s.answer.Load())(&request{conn, n, time.Now()}); text {
		case reset:
			conn.(*net.TCPConn).SetLinger(0)
			return
		case hang:
			reader.ReadByte()
			return
		case hangUp:
			return
		default:
			if _, err := conn.Write([]byte(text)); err != nil {
				return
			}
		}
	}
}

// connections counts those that were accepted so far.
func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// close refuses new connections and drops the ones there are.
func (s *server) close() {
	s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

// A gate is a state that switches once, and knows when.
type gate struct {
	open atomic.Bool
	// before is taken just before the switch, after just behind it.
	before, after time.Time
}

func (g *gate) switchOver() {
	g.before = time.Now()
	g.open.Store(true)
	g.after = time.Now()
}

// answers is what a server behind the gate says.
func (g *gate) answers(*request) string {
	if g.open.Load() {
		return newAnswer
	}
	return oldAnswer
}
