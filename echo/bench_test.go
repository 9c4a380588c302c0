package echo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	netwebsocket "golang.org/x/net/websocket"

	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

// benchServer makes this binary a server to measure, in a process of its own:
// only so can its cost be told from the client's.
const benchServer = "GATEMARK_ECHO_BENCH"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(benchServer) {
	case "":
		os.Exit(m.Run())
	case "echo":
		err = benchEcho(`{}`)
	case "echo with rules":
		err = benchEcho(`{"rules":[{"match":{"path":"/x"},"close":{}},{"every":1000000000,"status":{"code":503}}]}`)
	case "echo with a delay":
		err = benchEcho(`{"rules":[{"delay":{"fixed":"1ms"}}]}`)
	case "net/http":
		err = benchNetHTTP()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func benchEcho(text string) error {
	f, err := fault.Decode([]byte(text))
	if err != nil {
		return err
	}
	s, err := Listen(Options{Listen: "127.0.0.1:0", Faults: f})
	if err != nil {
		return err
	}
	fmt.Println(s.Address())
	return s.Serve(context.Background())
}

// benchNetHTTP does the same with net/http, as cheaply as it can.
func benchNetHTTP() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	var count atomic.Int64
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		h := w.Header()
		h["Content-Length"] = []string{"0"}
		h["Date"] = nil
		h[marker.PodHeader] = []string{"echo-0"}
		h[marker.InstanceHeader] = []string{"77"}
		h[marker.RouteHeader] = r.Header[marker.RouteHeader]
		h[marker.GenerationHeader] = r.Header[marker.GenerationHeader]
	}))
}

// BenchmarkEcho reports the processor time that the server's process uses for
// each request, kernel included.
func BenchmarkEcho(b *testing.B) {
	for _, kind := range []string{"echo", "net/http"} {
		b.Run(kind+"/kept", func(b *testing.B) { benchmark(b, kind, keptClient) })
		b.Run(kind+"/new", func(b *testing.B) { benchmark(b, kind, newClient) })
	}
	for _, kind := range []string{"echo with rules", "echo with a delay"} {
		b.Run(strings.ReplaceAll(kind, " ", "-")+"/kept", func(b *testing.B) { benchmark(b, kind, keptClient) })
	}
	b.Run("echo/h2c", func(b *testing.B) { benchmark(b, "echo", clientOf(b, "", nil)) })
	b.Run("echo/grpc", func(b *testing.B) {
		benchmark(b, "echo", clientOf(b, "application/grpc", []byte("\x00\x00\x00\x00\x05hello")))
	})
	b.Run("echo/websocket", func(b *testing.B) { benchmark(b, "echo", webSocketClient) })
}

// clientOf posts a body over HTTP/2, 16 streams on one connection.
func clientOf(b *testing.B, contentType string, body []byte) func(string, int) error {
	client := &http.Client{Transport: &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	b.Cleanup(client.CloseIdleConnections)
	return func(address string, n int) error {
		for range n {
			r, err := client.Post("http://"+address, contentType, bytes.NewReader(body))
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, r.Body)
			if err := errors.Join(err, r.Body.Close()); err != nil || r.StatusCode != 200 {
				return fmt.Errorf("status %d, %w", r.StatusCode, err)
			}
		}
		return nil
	}
}

func webSocketClient(address string, n int) error {
	conn, err := netwebsocket.Dial("ws://"+address, "", "http://a.example")
	if err != nil {
		return err
	}
	defer conn.Close()
	buffer := make([]byte, 64)
	for range n {
		if _, err := conn.Write([]byte("hello")); err != nil {
			return err
		}
		if _, err := conn.Read(buffer); err != nil {
			return err
		}
	}
	return nil
}

// What Envoy sends upstream.
const benchRequest = "GET / HTTP/1.1\r\nhost: a.example\r\nuser-agent: gatemark\r\nx-forwarded-for: 10.0.0.1\r\n" +
	"x-forwarded-proto: http\r\nx-envoy-external-address: 10.0.0.1\r\nx-request-id: 8c0e4d3c-90fd-4a6c-a0e4-3a8b7a1d7f55\r\n" +
	"gatemark-route: route-propagation/route-1234\r\ngatemark-generation: 1\r\n\r\n"

func benchmark(b *testing.B, kind string, client func(address string, n int) error) {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), benchServer+"="+kind)
	out, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		process.Process.Kill()
		process.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	const clients = 16
	var wait sync.WaitGroup
	before := cpuSeconds(b, process.Process.Pid)
	b.ResetTimer()
	for c := range clients {
		wait.Go(func() {
			n := b.N / clients
			if c < b.N%clients {
				n++
			}
			if err := client(strings.TrimSpace(line), n); err != nil {
				b.Error(err)
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric((cpuSeconds(b, process.Process.Pid)-before)/float64(b.N)*1e9, "server-cpu-ns/op")
}

func keptClient(address string, n int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	buffer := make([]byte, 4096)
	for range n {
		if err := once(conn, buffer); err != nil {
			return err
		}
	}
	return nil
}

func newClient(address string, n int) error {
	buffer := make([]byte, 4096)
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		err = once(conn, buffer)
		conn.(*net.TCPConn).SetLinger(0)
		if err := errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return nil
}

func once(conn net.Conn, buffer []byte) error {
	if _, err := io.WriteString(conn, benchRequest); err != nil {
		return err
	}
	n, err := conn.Read(buffer)
	if err == nil && !strings.HasSuffix(string(buffer[:n]), "\r\n\r\n") {
		err = fmt.Errorf("short answer %q", buffer[:n])
	}
	return err
}

// cpuSeconds is what the process has used, to the kernel's 10 ms.
func cpuSeconds(b *testing.B, pid int) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks float64
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return ticks / 100
}
