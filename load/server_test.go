package load

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A behaviour is what a server does with its n-th request, counted from 0 over all
// connections.
type behaviour func(n int, w *scripted)

// A scripted is one request at a server, and what the script can do with it.
type scripted struct {
	conn    net.Conn
	request *http.Request
	body    int64
	ended   bool // no further request on this connection
}

func (w *scripted) write(text string) { _, _ = io.WriteString(w.conn, text) }

func (w *scripted) answer(status int, body string) {
	w.write("HTTP/1.1 " + strconv.Itoa(status) + " x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// close ends the connection in order, reset by a reset.
func (w *scripted) close() {
	w.ended = true
	_ = w.conn.Close()
}

func (w *scripted) reset() {
	conn := w.conn
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	w.ended = true
	_ = conn.Close()
}

// A testServer counts, and does as its script says.
type testServer struct {
	listener net.Listener
	script   behaviour
	requests atomic.Int64
	accepted atomic.Int64

	mu    sync.Mutex
	paths map[string]int
	hosts map[string]int
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

func serve(t testing.TB, config *tls.Config, s behaviour) *testServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &testServer{listener: listener, script: s, paths: map[string]int{}, hosts: map[string]int{}, conns: map[net.Conn]bool{}}
	server.wait.Add(1)
	go server.accept(config)
	t.Cleanup(server.stop)
	return server
}

func (s *testServer) stop() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *testServer) accept(config *tls.Config) {
	defer s.wait.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		s.accepted.Add(1)
		if config != nil {
			conn = tls.Server(conn, config)
		}
		s.mu.Lock()
		if s.conns == nil {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[conn] = true
		s.wait.Add(1)
		s.mu.Unlock()
		go s.serve(conn)
	}
}

func (s *testServer) serve(conn net.Conn) {
	defer s.wait.Done()
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.paths[r.URL.RequestURI()]++
		s.hosts[r.Host]++
		s.mu.Unlock()
		w := &scripted{conn: conn, request: r, body: n}
		s.script(int(s.requests.Add(1)-1), w)
		if w.ended {
			return
		}
	}
}

func (s *testServer) url() string { return "http://" + s.listener.Addr().String() + "/" }

func (s *testServer) secureURL() string { return strings.Replace(s.url(), "http:", "https:", 1) }

func ok(_ int, w *scripted) { w.answer(200, "fine") }

// engines runs a test on each engine that works here.
func engines(t *testing.T, test func(t *testing.T, engine Engine)) {
	for _, engine := range []Engine{Epoll, IOUring} {
		t.Run(string(engine), func(t *testing.T) {
			if engine == IOUring && chooseEngine() != IOUring {
				t.Skip("io_uring is forbidden here")
			}
			test(t, engine)
		})
	}
}

// attackOn runs an attack to its end.
func attackOn(t *testing.T, engine Engine, url string, change func(*Options)) *Result {
	t.Helper()
	o := Options{
		Targets: []Target{{URL: url, Expect: Expect{Body: -1}}}, Engine: engine, Connections: 4, Threads: 2, Timeout: 5 * time.Second,
	}
	change(&o)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := requestsOfResult(r); n != r.Requests {
		t.Errorf("%d requests, and classes of %d", r.Requests, n)
	}
	return r
}

func requestsOfResult(r *Result) int64 {
	var n int64
	if r.Latency != nil {
		n = r.Latency.Count
	}
	for _, count := range r.Errors {
		n += count
	}
	return n
}
