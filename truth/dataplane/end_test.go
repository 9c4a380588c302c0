package dataplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// ending is a replica that a test ends, with a connection to it.
type ending struct {
	*bench
	end   context.CancelFunc
	ended chan error
	conn  net.Conn
	read  *bufio.Reader
}

// toEnd starts a replica, which drains for so long, and connects to it.
func toEnd(t *testing.T, drain time.Duration) *ending {
	t.Helper()
	e := &ending{bench: start(t), ended: make(chan error, 1)}
	e.address = loopback()
	e.replica = New(e.feed.For("a/gateway"), Options{Address: e.address, Faults: &e.faults, Drain: drain})
	ctx, cancel := context.WithCancel(t.Context())
	e.end = cancel
	go func() { e.ended <- e.replica.Run(ctx) }()
	t.Cleanup(cancel)
	e.both(1)
	var err error
	if e.conn, err = net.Dial("tcp", netip.AddrPortFrom(e.address, uint16(config.ServingPort(80))).String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.conn.Close() })
	e.read = bufio.NewReader(e.conn)
	return e
}

// ask sends a request over the connection.
func (e *ending) ask(host string) (*http.Response, error) {
	if _, err := fmt.Fprintf(e.conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(e.read, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

func TestADrainingReplicaSendsItsClientsAway(t *testing.T) {
	e := toEnd(t, time.Second)
	if r, err := e.ask("a.test"); err != nil || r.Close {
		t.Fatalf("before its end: %v", err)
	}
	e.end()
	for deadline := time.Now().Add(500 * time.Millisecond); ; {
		r, err := e.ask("a.test")
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("while it drains: %v", err)
		}
		if r.Close {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("its client is not told to go elsewhere")
		}
	}
	if err := <-e.ended; err != nil {
		t.Error(err)
	}
}

func TestAKilledReplicaIsGoneAtOnce(t *testing.T) {
	for name, kill := range map[string]func(e *ending){
		"killed":           func(e *ending) { e.end(); e.replica.Kill() },
		"told to, wrongly": func(e *ending) { e.faults.Set(fault.Faults{CutsOnEnd: true}); e.end() },
	} {
		t.Run(name, func(t *testing.T) {
			e := toEnd(t, time.Hour)
			if _, err := e.ask("a.test"); err != nil {
				t.Fatal(err)
			}
			kill(e)
			if err := <-e.ended; err != nil {
				t.Error(err)
			}
			if _, err := e.ask("a.test"); err == nil {
				t.Error("it answers")
			}
		})
	}
}

func TestEndsSocketsOnChange(t *testing.T) {
	e := toEnd(t, 0)
	e.backends["a"] = backendOf(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(c, c) // to its end
	})
	e.both(2)
	e.faults.Set(fault.Faults{EndsSocketsOnChange: true})
	fmt.Fprint(e.conn, "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	if response, err := http.ReadResponse(e.read, nil); err != nil || response.StatusCode != 101 {
		t.Fatalf("no WebSocket: %v", err)
	}
	kept, err := net.Dial("tcp", e.conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	socket := e.read
	e.conn, e.read = kept, bufio.NewReader(kept)
	if _, err := e.ask("b.test"); err != nil {
		t.Fatal(err)
	}
	e.both(3)
	if _, err := socket.ReadByte(); err == nil {
		t.Error("the WebSocket outlives the change")
	}
	if _, err := e.ask("b.test"); err != nil {
		t.Errorf("a connection that is none: %v", err)
	}
	e.expectInjected(map[string]int64{"endsSocketsOnChange": 1})
}
