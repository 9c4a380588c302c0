package echo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

// maxMessage bounds a WebSocket message, in bytes.
const maxMessage = 16 << 20

// webSocket makes the connection one, and echoes messages to its end. The
// inquiry is the one that the handshake was judged by, nil for none.
func (c *session) webSocket(q *inquiry) error {
	c.server.counters.flight.leave() // it may last for days
	defer c.server.counters.flight.enter()
	if err := c.flush(); err != nil {
		return err
	}
	request, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(c.raw), bytes.NewReader(headEnd))))
	if err != nil {
		return c.refuse("400 Bad Request", err)
	}
	route := bytes.Clone(c.request.route)
	up := &upgrade{session: c, header: c.upgradeHeader(q)}
	socket, err := websocket.Accept(up, request, &websocket.AcceptOptions{InsecureSkipVerify: true})
	c.tally(route, up.status)
	if err != nil {
		return errors.Join(err, errClosing) // it has answered
	}
	defer socket.CloseNow()
	protocol := websocketPlain
	if c.conn != c.wire {
		protocol = websocketTLS
	}
	c.wire.speaks(protocol)
	socket.SetReadLimit(maxMessage)
	about := fault.Query{Path: []byte(request.URL.Path), Host: []byte(request.Host), Route: route, Kinds: fault.Messages}
	return c.messages(socket, about)
}

// messages echoes until the connection ends.
func (c *session) messages(socket *websocket.Conn, about fault.Query) error {
	ctx := context.Background() // the end of the server closes the connection
	var message bytes.Buffer
	for {
		kind, reader, err := socket.Reader(ctx)
		if err != nil {
			return err
		}
		message.Reset()
		if _, err := message.ReadFrom(reader); err != nil {
			return err
		}
		if err := c.judgeMessage(about); err != nil {
			return err
		}
		c.server.counters.messages.Add(1)
		if err := socket.Write(ctx, kind, message.Bytes()); err != nil {
			return err
		}
	}
}

// judgeMessage applies the faults that make sense for a message.
func (c *session) judgeMessage(about fault.Query) error {
	set := c.server.faults.Load()
	if set.Quiet() {
		return nil
	}
	q := inquiry{Query: about, read: time.Now()}
	v, err := c.server.judge(&q, c.server.stopped)
	if err != nil {
		return err
	}
	c.server.waited(&v, q.read)
	switch v.Kind {
	case fault.ResetKind:
		return errors.Join(c.wire.reset(), errClosing)
	case fault.CloseKind:
		return errClosing
	case fault.HangKind:
		for {
			if _, err := c.conn.Read(c.buffer); err != nil {
				return err
			}
		}
	}
	return nil
}

// upgradeHeader is what the handshake's response carries.
func (c *session) upgradeHeader(q *inquiry) http.Header {
	r, o := &c.request, &c.server.options
	h := http.Header{marker.PodHeader: {o.Pod}, marker.InstanceHeader: {o.Instance}}
	if len(r.route) > 0 {
		h.Set(marker.RouteHeader, string(r.route))
	}
	if len(r.generation) > 0 {
		h.Set(marker.GenerationHeader, string(r.generation))
	}
	if q != nil {
		if waited := c.server.waited(&c.reply.verdict, q.read); waited > 0 {
			h.Set(marker.AppliedHeader, strconv.FormatInt(int64(waited), 10))
		}
	}
	return h
}

// An upgrade lets the library answer the handshake and have the connection.
type upgrade struct {
	session *session
	header  http.Header
	status  int
}

func (u *upgrade) Header() http.Header { return u.header }

func (u *upgrade) WriteHeader(status int) {
	u.status = status
	out := &bytes.Buffer{}
	out.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	if status != http.StatusSwitchingProtocols {
		u.header.Set("Connection", "close")
	}
	_ = u.header.Write(out) // into memory
	out.WriteString("\r\n")
	u.session.out = append(u.session.out, out.Bytes()...)
	_ = u.session.flush() // an error shows with the next read
}

func (u *upgrade) Write(body []byte) (int, error) { return u.session.conn.Write(body) }

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := u.session
	conn := &replay{c.conn, bytes.Clone(c.buffer[c.start:c.end])}
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}
