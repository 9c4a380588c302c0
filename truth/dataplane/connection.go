package dataplane

import (
	"net"
	"net/http"
	"sync"
)

// connections are a port's that are open, those of WebSockets too, which a
// server no longer knows.
type connections struct {
	net.Listener
	mu   sync.Mutex
	open map[*connection]bool
}

type connection struct {
	net.Conn
	among *connections
	// taken from its server: a WebSocket.
	taken bool
}

func (c *connections) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &connection{Conn: accepted, among: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[one] = true
	return one, nil
}

// follow is told by a server what becomes of its connections.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	if state != http.StateHijacked {
		return
	}
	for {
		if one, ok := conn.(*connection); ok {
			c.mu.Lock()
			one.taken = true
			c.mu.Unlock()
			return
		}
		wraps, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		conn = wraps.NetConn()
	}
}

// drop closes all, and dropSockets those that are WebSockets. They return how
// many there were.
func (c *connections) drop() int { return c.close(func(*connection) bool { return true }) }

func (c *connections) dropSockets() int {
	return c.close(func(one *connection) bool { return one.taken })
}

func (c *connections) close(which func(*connection) bool) int {
	c.mu.Lock()
	var all []*connection
	for one := range c.open {
		if which(one) {
			all = append(all, one)
		}
	}
	c.mu.Unlock()
	for _, one := range all {
		_ = one.Close() // whoever has it notices
	}
	return len(all)
}

func (c *connection) Close() error {
	c.among.mu.Lock()
	delete(c.among.open, c)
	c.among.mu.Unlock()
	return c.Conn.Close()
}

// NetConn is what it wraps, as of a connection of TLS.
func (c *connection) NetConn() net.Conn { return c.Conn }

func innermost(c net.Conn) net.Conn {
	for {
		wraps, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = wraps.NetConn()
	}
}
