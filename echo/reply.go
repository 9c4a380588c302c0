package echo

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/echo/fault"
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

// phrase is how soon the page repeats itself, in bytes.
const phrase = len("gatemark")

// A reply is one response in the making.
type reply struct {
	status     int
	size       int
	text       string // the body, instead of size bytes of page
	retryAfter string
	last       bool // the connection ends with it
	health     bool
	verdict    fault.Verdict
	read       time.Time // when the request was, where the verdict waits
}

// bad makes it a refusal of a request that asks for something impossible.
func (a *reply) bad(problem error) {
	a.status, a.text = http.StatusBadRequest, problem.Error()+"\n"
	a.size = len(a.text)
}

// bodiless reports whether a status forbids a body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// appendHead appends the response's head, and so ends the request's wait.
func (c *session) appendHead() {
	r, a := &c.request, &c.reply
	out := c.out
	if a.status == http.StatusOK {
		out = append(out, "HTTP/1.1 200 OK\r\n"...)
	} else {
		out = strconv.AppendInt(append(out, "HTTP/1.1 "...), int64(a.status), 10)
		out = append(append(append(out, ' '), http.StatusText(a.status)...), '\r', '\n')
	}
	out = append(out, c.server.identity...)
	if len(r.route) > 0 {
		out = append(append(append(out, marker.RouteHeader+": "...), r.route...), '\r', '\n')
	}
	if len(r.generation) > 0 {
		out = append(append(append(out, marker.GenerationHeader+": "...), r.generation...), '\r', '\n')
	}
	if a.retryAfter != "" {
		out = append(append(append(out, "Retry-After: "...), a.retryAfter...), '\r', '\n')
	}
	if a.last {
		out = append(out, "Connection: close\r\n"...)
	} else if r.oldVersion {
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	if bodiless(a.status) {
		a.size, a.text = 0, ""
	} else {
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(a.size), 10)
		out = append(out, '\r', '\n')
	}
	if waited := c.server.waited(&a.verdict, a.read); waited > 0 {
		out = append(out, marker.AppliedHeader+": "...)
		out = append(strconv.AppendInt(out, int64(waited), 10), '\r', '\n')
	}
	c.out = append(out, '\r', '\n')
}

// appendBody appends the first n bytes of the response's body, or writes them
// where they are many.
func (c *session) appendBody(n int) error {
	switch {
	case c.request.head:
		return nil
	case c.reply.text != "":
		c.out = append(c.out, c.reply.text...)
		return nil
	}
	for left := min(n, c.reply.size); left > 0; {
		piece := min(left, len(page))
		c.out = append(c.out, page[:piece]...)
		left -= piece
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
