package echo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/marker"
)

// serve runs a server until the test ends, which must then leave nothing.
func serve(t *testing.T, o Options) (*Server, func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	o.Listen, o.Admin, o.Pod, o.Instance = "127.0.0.1:0", "127.0.0.1:0", "echo-0", "77"
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
		for range 200 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("%d goroutines left, %d before", runtime.NumGoroutine(), before)
	})
	t.Cleanup(stop)
	return s, stop
}

// exchange sends bytes and reads n responses.
func exchange(t *testing.T, s *Server, sent string, n int) []*http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	var all []*http.Response
	for range n {
		method := strings.Fields(sent)[0]
		r, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("after %d responses: %v", len(all), err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.StatusCode < 200 {
			continue
		}
		all = append(all, r)
	}
	return all
}

func TestMarkersAreReflected(t *testing.T) {
	s, _ := serve(t, Options{})
	want := marker.Expect("infra/a", 3)
	request := "GET /x HTTP/1.1\r\nHost: h\r\n"
	for _, field := range want.Filter() {
		// HTTP/2 to the gateway makes them lower case on the way.
		request += strings.ToLower(field[0]) + ": " + field[1] + "\r\n"
	}
	r := exchange(t, s, request+"\r\n", 1)[0]
	var f marker.Fields
	for name, values := range r.Header {
		f.Set([]byte(name), []byte(values[0]))
	}
	want.Pod, want.Instance = "echo-0", "77"
	if diff := cmp.Diff(want, f.Marker()); diff != "" || r.StatusCode != 200 {
		t.Errorf("status %d, (-want +got):\n%s", r.StatusCode, diff)
	}
	if r.ContentLength != 0 {
		t.Errorf("content-length %d, want 0", r.ContentLength)
	}
}

func TestSizes(t *testing.T) {
	s, _ := serve(t, Options{})
	for _, size := range []int{0, 1, 4096, len(page), len(page) + 1, 3*len(page) + 17} {
		for _, request := range []string{
			fmt.Sprintf("GET /?a=b&size=%d HTTP/1.1\r\nHost: h\r\n\r\n", size),
			fmt.Sprintf("GET / HTTP/1.1\r\nHost: h\r\n%s: %d\r\n\r\n", marker.SizeHeader, size),
		} {
			r := exchange(t, s, request, 1)[0]
			body, _ := io.ReadAll(r.Body)
			if r.StatusCode != 200 || len(body) != size || r.ContentLength != int64(size) {
				t.Errorf("%q: status %d, %d bytes, content-length %d", request, r.StatusCode, len(body), r.ContentLength)
			}
		}
	}
	for _, bad := range []string{"x", "-1", "", fmt.Sprint(MaxSize + 1)} {
		r := exchange(t, s, "GET /?size="+bad+" HTTP/1.1\r\nHost: h\r\n\r\n", 1)[0]
		if r.StatusCode != 400 || r.Close {
			t.Errorf("size %q: status %d, close %v", bad, r.StatusCode, r.Close)
		}
	}
}

func TestRequests(t *testing.T) {
	s, _ := serve(t, Options{})
	get := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	cases := []struct {
		name, sent string
		statuses   []int
		closed     bool
	}{
		{"pipelined", get + get + get, []int{200, 200, 200}, false},
		{"body by length", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + get, []int{200, 200}, false},
		{"a large body", "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000) + get, []int{200, 200}, false},
		{"a body in chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\na: b\r\n\r\n" + get, []int{200, 200}, false},
		{"a bad size does not upset the framing", "POST /?size=x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + get, []int{400, 200}, false},
		{"close", "GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", []int{200}, true},
		{"old version", "GET / HTTP/1.0\r\n\r\n", []int{200}, true},
		{"old version kept alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", []int{200}, false},
		{"a long head", "GET / HTTP/1.1\r\nCookie: " + strings.Repeat("x", 20000) + "\r\n\r\n" + get, []int{200, 200}, false},
		{"too long a head", "GET / HTTP/1.1\r\nCookie: " + strings.Repeat("x", maxHead), []int{431}, true},
		{"nonsense", "hello\r\n\r\n", []int{400}, true},
		{"no version", "GET /\r\n\r\n", []int{400}, true},
		{"a field without a colon", "GET / HTTP/1.1\r\nhello\r\n\r\n", []int{400}, true},
		{"a bad length", "POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", []int{400}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := exchange(t, s, c.sent, len(c.statuses))
			for i, r := range all {
				if r.StatusCode != c.statuses[i] {
					t.Errorf("response %d: status %d, want %d", i, r.StatusCode, c.statuses[i])
				}
			}
			if last := all[len(all)-1]; last.Close != c.closed {
				t.Errorf("close is %v, want %v", last.Close, c.closed)
			}
		})
	}
	r := exchange(t, s, "HEAD /?size=9 HTTP/1.1\r\nHost: h\r\n\r\n", 1)[0]
	if body, _ := io.ReadAll(r.Body); len(body) > 0 || r.ContentLength != 9 {
		t.Errorf("HEAD: %d bytes of body, content-length %d, want 0 and 9", len(body), r.ContentLength)
	}
}

func TestExpectContinue(t *testing.T) {
	s, _ := serve(t, Options{})
	request, err := http.NewRequest("POST", "http://"+s.Address().String(), strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	r, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
}

func get(t *testing.T, address net.Addr, path string) (int, []byte) {
	t.Helper()
	r, err := http.Get("http://" + address.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, body
}

func TestCounters(t *testing.T) {
	s, _ := serve(t, Options{})
	const workers, each = 8, 50
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			route := fmt.Sprintf("GET / HTTP/1.1\r\n%s: r%d\r\n\r\n", marker.RouteHeader, w%2)
			exchange(t, s, strings.Repeat(route, each), each)
		})
	}
	wait.Wait()
	exchange(t, s, "GET /?size=x HTTP/1.1\r\n\r\n", 1)
	exchange(t, s, "nonsense\r\n\r\n", 1)
	_, body := get(t, s.AdminAddress(), "/counters")
	var got Counters
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := []RouteCount{{"", 400, 2}, {"r0", 200, workers / 2 * each}, {"r1", 200, workers / 2 * each}}
	if diff := cmp.Diff(want, got.Routes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Requests != workers*each+2 || got.Accepted != workers+2 || got.Pod != "echo-0" || got.Instance != "77" {
		t.Errorf("got %+v", got)
	}
}

func TestDrain(t *testing.T) {
	s, err := Listen(Options{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", Drain: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	exchange(t, s, "GET / HTTP/1.1\r\n\r\n", 1) // it is serving
	for code := 0; code != 200; code, _ = get(t, s.AdminAddress(), "/readyz") {
	}
	cancel()
	for code := 0; code != 503; code, _ = get(t, s.AdminAddress(), "/readyz") {
	}
	if code, _ := get(t, s.AdminAddress(), "/healthz"); code != 200 {
		t.Errorf("healthz while draining: %d", code)
	}
	if r := exchange(t, s, "GET / HTTP/1.1\r\n\r\n", 1)[0]; r.StatusCode != 200 {
		t.Errorf("a request while draining: %d", r.StatusCode)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.Address().String()); err == nil {
		t.Error("the port is still open")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestStopClosesConnections(t *testing.T) {
	s, stop := serve(t, Options{})
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if _, err := http.ReadResponse(reader, nil); err != nil {
		t.Fatal(err)
	}
	stop()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("an idle connection after the end: %v, want EOF", err)
	}
}

func TestPortInUse(t *testing.T) {
	s, _ := serve(t, Options{})
	if _, err := Listen(Options{Listen: s.Address().String()}); err == nil {
		t.Error("two servers on one port")
	}
	if _, err := Listen(Options{Listen: "127.0.0.1:0", Admin: s.Address().String()}); err == nil {
		t.Error("an admin port that is taken")
	}
}
