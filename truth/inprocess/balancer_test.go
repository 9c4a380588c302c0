package inprocess

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// TestBalancer: each connection goes to an endpoint and ends as that one's
// does; one that nobody takes is reset.
func TestBalancer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{address: netip.MustParseAddr("127.0.0.1"), reserved: reserved, listeners: map[int32]net.Listener{}}
	defer b.close()
	if err := b.listen(0); err != nil { // any port
		t.Fatal(err)
	}
	dial := func() (*net.TCPConn, error) {
		c, err := net.Dial("tcp", b.listeners[0].Addr().String())
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { c.Close() })
		return c.(*net.TCPConn), c.SetDeadline(time.Now().Add(10 * time.Second))
	}
	c, err := dial()
	if err == nil { // the reset may come that soon
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("without endpoints: %v", err)
	}
	b.mu.Lock()
	b.endpoints = map[int32][]string{0: {server.Addr().String()}}
	b.mu.Unlock()
	if c, err = dial(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
