package dataplane

import (
	"net"
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
}

func (c *connections) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &connection{accepted, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[one] = true
	return one, nil
}

// drop closes all, and returns how many there were.
func (c *connections) drop() int {
	c.mu.Lock()
	var all []*connection
	for one := range c.open {
		all = append(all, one)
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
