package supervisor

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/cluster/local/handshake"
)

func pipe(t *testing.T) (*handshake.Conn, *handshake.Conn) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return handshake.New(a), handshake.New(b)
}

func TestForward(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d bytes, %v", len(text), err)
	}))
	defer server.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go forward(listener, server.Listener.Addr().String())
	res, err := http.Post("http://"+listener.Addr().String(), "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || string(text) != "1048576 bytes, <nil>" {
		t.Errorf("the answer is %q (%v)", text, err)
	}
}

// A client sees the server's end, and a server that is not there.
func TestForwardEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	go forward(listener, gone.Addr().String())
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection did not end cleanly: %v", err)
	}
}
