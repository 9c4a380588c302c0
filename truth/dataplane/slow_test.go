package dataplane

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

func TestTurns(t *testing.T) {
	x := new(wrong)
	now := at(0)
	for i, want := range []time.Duration{0, 100, 200, 300} {
		if got := turn(&x.slot, now, 100*time.Millisecond); got != want*time.Millisecond {
			t.Errorf("request %d waits %s, want %s", i, got, want*time.Millisecond)
		}
	}
	if got := turn(&x.slot, at(10), 100*time.Millisecond); got != 0 {
		t.Errorf("after a pause a request waits %s", got)
	}
	if got := turn(&x.slot, at(10), 100*time.Millisecond); got != 100*time.Millisecond {
		t.Errorf("what was not used is kept: the second waits %s", got)
	}
}

func TestLatencyAndLimit(t *testing.T) {
	b := start(t)
	b.both(1)
	for _, c := range []struct {
		name     string
		f        fault.Faults
		requests int64
		least    time.Duration
	}{
		{"latency", fault.Faults{Latency: 5 * time.Millisecond}, 3, 15 * time.Millisecond},
		{"limit", fault.Faults{Limit: 100}, 4, 30 * time.Millisecond},
	} {
		b.faults.Set(c.f)
		began := time.Now()
		for range c.requests {
			b.expect("a.test", "/", 200)
		}
		if took := time.Since(began); took < c.least {
			t.Errorf("%s: %d requests took %s, want at least %s", c.name, c.requests, took, c.least)
		}
	}
	if n := b.replica.Injected()["latency"]; n != 3 {
		t.Errorf("%d requests were slowed down, want 3", n)
	}
}

func TestStall(t *testing.T) {
	const stall = 50 * time.Millisecond
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{Stall: stall})
	b.publish(b.backends, plain(hosted(2, "a"))) // no endpoint changed
	if until := b.replica.wrong.stalled.Load(); until != 0 {
		t.Error("a change of a route stalls")
	}
	more := b.backends["a"]
	more.Endpoints = append(more.Endpoints[:1:1], b.backends["b"].Endpoints...)
	began := time.Now()
	b.publish(map[string]config.Backend{"a": more}, plain(hosted(2, "a")))
	b.expect("a.test", "/", 200)
	if took := time.Since(began); took < stall {
		t.Errorf("answered after %s, want at least %s", took, stall)
	}
}

func TestDropsKeptOnChange(t *testing.T) {
	b := start(t)
	b.both(1)
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", netip.AddrPortFrom(b.address, uint16(config.ServingPort(80))).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, r *bufio.Reader) error {
		if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); err != nil {
			return err
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	c, r := dial()
	if err := ask(c, r); err != nil {
		t.Fatal(err)
	}
	b.both(2)
	if err := ask(c, r); err != nil {
		t.Errorf("without the fault: %v", err)
	}
	b.faults.Set(fault.Faults{DropsKeptOnChange: true})
	b.both(3)
	if err := ask(c, r); err == nil {
		t.Error("the connection outlives the change")
	}
	if n := b.replica.Injected()["dropsKeptOnChange"]; n != 1 {
		t.Errorf("%d connections were dropped, want 1", n)
	}
	b.expect("a.test", "/", 200)
}

// counting is a backend that counts its connections and requests.
type counting struct {
	requests    atomic.Int64
	mu          sync.Mutex
	connections map[string]bool
	answer      int
	at          config.Backend
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections[r.RemoteAddr] = true
	w.WriteHeader(c.answer)
}

func (c *counting) opened() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.connections)
}

// backend is one that gives the same answer to all.
func (b *bench) backend(answer int) *counting {
	c := &counting{connections: map[string]bool{}, answer: answer}
	c.at = backendOf(b.t, c.ServeHTTP)
	return c
}

// count publishes a route of two rules before such a backend.
func (b *bench) count(answer int) *counting {
	c := b.backend(answer)
	b.publish(map[string]config.Backend{"a": c.at}, plain(hosted(1, "a"), hosted(1, "a")))
	return c
}

func TestConnectionPerRequest(t *testing.T) {
	for want, f := range map[int]fault.Faults{1: {}, 4: {ConnectionPerRequest: true}} {
		b := start(t)
		c := b.count(200)
		b.faults.Set(f)
		for range 4 {
			b.expect("a.test", "/", 200)
		}
		if got := c.opened(); got != want {
			t.Errorf("%+v: %d connections to the backend, want %d", f, got, want)
		}
	}
}

func TestMaskingRetries(t *testing.T) {
	b := start(t)
	c := b.count(500)
	b.faults.Set(fault.Faults{MaskingRetries: 2})
	b.expect("a.test", "/", 500)
	if n := c.requests.Load(); n != 3 {
		t.Errorf("the backend was asked %d times, want 3", n)
	}
	b.expectInjected(map[string]int64{"maskingRetries": 2})
}

func TestHealthPerRoute(t *testing.T) {
	b := start(t)
	c := b.count(200) // two rules, one endpoint
	b.faults.Set(fault.Faults{HealthPerRoute: time.Millisecond})
	for began := time.Now(); c.requests.Load() < 4; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("asked %d times", c.requests.Load())
		}
	}
	if got := len(b.replica.table.Load().endpoints()); got != 2 {
		t.Errorf("%d endpoints are asked, want each rule's", got)
	}
}
