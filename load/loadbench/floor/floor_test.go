package floor

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load/ring"
)

// TestCounts: what the loop counts is what a server has answered, but for what
// was in flight at the end.
func TestCounts(t *testing.T) {
	for _, engine := range []string{"epoll", "io_uring"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "io_uring" && !ring.Works() {
				t.Skip("io_uring may not be used here")
			}
			counts(t, engine)
		})
	}
}

func counts(t *testing.T, engine string) {
	// A ring belongs to its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const connections, answer = 8, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var answered, opened atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			opened.Add(1)
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						answered.Add(1)
						if _, err := io.WriteString(c, answer); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	got, err := Run(engine, l.Addr().String(), connections, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests == 0 || got.Requests > answered.Load() || got.BytesIn != got.Requests*int64(len(answer)) || got.Broken != 0 {
		t.Errorf("%+v, and %d were answered", got, answered.Load())
	}
	if opened.Load() != connections {
		t.Errorf("%d connections", opened.Load())
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run("epoll", address, 3, time.Second); err == nil || !strings.Contains(err.Error(), "open connection 1 of 3: connection refused") {
		t.Errorf("%v", err)
	}
}
