package load

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/gatemark/gatemark/marker"
)

// talk lets a session make one request over an open connection.
func talk(t *testing.T, s *Session, conn net.Conn) error {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	out, err := s.Ask()
	buffer := make([]byte, 1000)
	for done := false; ; {
		if err != nil {
			return err
		}
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		if done {
			return nil
		}
		n, failed := conn.Read(buffer)
		switch {
		case errors.Is(failed, io.EOF) && s.End():
			return nil
		case failed != nil:
			return failed
		}
		out, done, err = s.Receive(buffer[:n])
	}
}

func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func newSession(t *testing.T, target Target, p Protocol, config *tls.Config) *Session {
	t.Helper()
	s, err := NewSession(target, p, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSessionsOfHTTP(t *testing.T) {
	runtime.LockOSThread() // as the loops do that have sessions
	defer runtime.UnlockOSThread()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(marker.PodHeader, r.Proto+" "+r.Host+" "+r.Header.Get("X-A"))
		w.WriteHeader(418)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "https://")
	for protocol, want := range map[Protocol]string{HTTP1: "HTTP/1.1 a.test b", HTTP2: "HTTP/2.0 a.test b"} {
		t.Run(string(protocol), func(t *testing.T) {
			s := newSession(t, Target{URL: "https://" + address + "/", Host: "a.test", Header: []Field{{"X-A", "b"}}}, protocol, &tls.Config{InsecureSkipVerify: true})
			for range 2 {
				s.Open()
				conn := dialed(t, address)
				for range 2 {
					if err := talk(t, s, conn); err != nil {
						t.Fatal(err)
					}
					if a := s.Answer(); a.Status != 418 || a.Marker.Marker().Pod != want || !s.Secured() || !s.Reusable() {
						t.Errorf("status %d, %v", a.Status, a.Marker.Marker())
					}
				}
			}
		})
	}
}

func TestSessionsOfGRPC(t *testing.T) {
	l := listen(t)
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: answerGRPC}},
	}, nil)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	for path, want := range map[string]int{"/test.Echo/Say": 200, "/test.Echo/None": 404} {
		s := newSession(t, Target{URL: "http://any" + path}, GRPC, nil)
		conn := dialed(t, l.Addr().String())
		for range 3 {
			if err := talk(t, s, conn); err != nil {
				t.Fatal(err)
			}
			a := s.Answer()
			if a.Status != want || (want == 200) != (a.Marker.Marker() == marker.Marker{Route: "r", Generation: 3}) {
				t.Errorf("%s: status %d, %v", path, a.Status, a.Marker.Marker())
			}
		}
	}
}

func TestSessionsThatFail(t *testing.T) {
	closing := serve(t, nil, func(_ int, w *scripted) { w.close() })
	s := newSession(t, Target{URL: closing.url()}, HTTP1, nil)
	if err := talk(t, s, dialed(t, closing.listener.Addr().String())); !errors.Is(err, io.EOF) {
		t.Errorf("a server that closes: %v", err)
	}
	s = newSession(t, Target{URL: closing.secureURL()}, HTTP1, &tls.Config{InsecureSkipVerify: true})
	err := talk(t, s, dialed(t, closing.listener.Addr().String()))
	if err == nil || s.Secured() {
		t.Errorf("a server without TLS: %v, secured: %t", err, s.Secured())
	}
	plain := serve(t, nil, ok)
	s = newSession(t, Target{URL: plain.url()}, GRPC, nil)
	if err := talk(t, s, dialed(t, plain.listener.Addr().String())); ClassOf(err) != Malformed && !errors.Is(err, io.EOF) {
		t.Errorf("a server without HTTP/2: %v", err)
	}
	for _, url := range []string{"ftp://a/", "http://a/{1..2}"} {
		if _, err := NewSession(Target{URL: url}, HTTP1, nil); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
	if _, err := NewSession(Target{URL: "ws://a/"}, WebSocket, nil); err == nil {
		t.Error("WebSocket is taken")
	}
}

func TestStatusesOfGRPC(t *testing.T) {
	for _, c := range []struct {
		status, grpc int32
		want         int
	}{{200, 0, 200}, {200, -1, 200}, {200, 12, 404}, {200, 14, 503}, {200, 13, 500}, {503, -1, 503}, {0, -1, 0}} {
		if got := (&Record{Status: c.status, GRPC: c.grpc}).HTTPStatus(); got != c.want {
			t.Errorf("%d with %d: got %d, want %d", c.status, c.grpc, got, c.want)
		}
	}
}
