package echo

import (
	"bytes"
	"errors"
	"net"
	"strconv"

	"github.com/gatemark/gatemark/marker"
)

// identity is what every response of this server carries.
func identity(o Options) []byte {
	return []byte("Content-Type: text/plain\r\n" +
		marker.PodHeader + ": " + o.Pod + "\r\n" +
		marker.InstanceHeader + ": " + o.Instance + "\r\n")
}

// page is what bodies are made of.
var page = bytes.Repeat([]byte("gatemark"), 8<<10)

// A session serves one connection.
type session struct {
	server *Server
	conn   net.Conn
	buffer []byte // what was read and not used is buffer[start:end]
	start  int
	end    int
	out    []byte // responses not written yet
	count  *tally // of the last request, which the next is most often like
}

var errClosing = errors.New("closing")

func (s *Server) serve(conn net.Conn) {
	defer s.remove(conn)
	c := &session{server: s, conn: conn, buffer: make([]byte, 4<<10), out: make([]byte, 0, 1<<10)}
	// An error is the connection's end; those that matter are counted where
	// they occur.
	for c.next() == nil {
	}
}

// next answers one request. Responses are written when no further request has
// been read, so that pipelined ones share a write.
func (c *session) next() error {
	head, err := c.head()
	if err != nil {
		return err
	}
	var r request
	err = r.parse(head)
	if err != nil && !errors.Is(err, errSize) {
		return c.refuse("400 Bad Request", err)
	}
	status := 200
	if err != nil {
		status = 400
	}
	last := r.close || r.oldVersion && !r.keepAlive || c.server.closing.Load()
	c.tally(r.route, status)
	c.respond(&r, err, last)
	// The head's slices end here: the body needs the buffer.
	if err := c.skipBody(&r); err != nil {
		return err
	}
	if err := c.body(&r, err); err != nil {
		return err
	}
	if last {
		return errors.Join(c.flush(), errClosing)
	}
	if c.start == c.end {
		return c.flush()
	}
	return nil
}

// head returns the next request's head, without the empty line at its end.
func (c *session) head() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.Index(c.buffer[c.start+searched:c.end], headEnd); i >= 0 {
			head := c.buffer[c.start : c.start+searched+i]
			c.start += searched + i + len(headEnd)
			return head, nil
		}
		searched = max(0, c.end-c.start-len(headEnd)+1)
		if c.end-c.start >= maxHead {
			return nil, c.refuse("431 Request Header Fields Too Large", errRequest)
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once, with room for at least some bytes.
func (c *session) fill() error {
	if c.start == c.end {
		c.start, c.end = 0, 0
	}
	if c.end == len(c.buffer) {
		if c.start == 0 {
			c.buffer = append(c.buffer, make([]byte, len(c.buffer))...)
		}
		c.end = copy(c.buffer, c.buffer[c.start:c.end])
		c.start = 0
	}
	n, err := c.conn.Read(c.buffer[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	return err
}

// respond appends the response's head.
func (c *session) respond(r *request, problem error, last bool) {
	out := c.out
	if r.expects && !r.oldVersion {
		out = append(out, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
	size := r.size
	if problem == nil {
		out = append(out, "HTTP/1.1 200 OK\r\n"...)
	} else {
		out = append(out, "HTTP/1.1 400 Bad Request\r\n"...)
		size = len(problem.Error()) + 1
	}
	out = append(out, c.server.identity...)
	if len(r.route) > 0 {
		out = append(append(append(out, marker.RouteHeader+": "...), r.route...), '\r', '\n')
	}
	if len(r.generation) > 0 {
		out = append(append(append(out, marker.GenerationHeader+": "...), r.generation...), '\r', '\n')
	}
	if last {
		out = append(out, "Connection: close\r\n"...)
	} else if r.oldVersion {
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(size), 10)
	c.out = append(out, "\r\n\r\n"...)
}

// body appends the response's body, or writes it where it is large.
func (c *session) body(r *request, problem error) error {
	switch {
	case r.head:
		return nil
	case problem != nil:
		c.out = append(append(c.out, problem.Error()...), '\n')
		return nil
	}
	for left := r.size; left > 0; {
		n := min(left, len(page))
		c.out = append(c.out, page[:n]...)
		left -= n
		if left > 0 {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *session) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// refuse answers a request that cannot be understood, and ends the connection.
func (c *session) refuse(status string, reason error) error {
	c.tally(nil, 400)
	c.out = append(c.out, "HTTP/1.1 "+status+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"...)
	return errors.Join(reason, c.flush())
}
