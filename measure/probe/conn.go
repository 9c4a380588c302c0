package probe

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatemark/gatemark/load"
)

// bufferSize bounds a line of a response, not the response.
const bufferSize = 16 << 10

type phase uint8

const (
	idle    phase = iota // no probe; perhaps connected
	writing              // connecting, or the request is not out yet
	reading              // the answer is awaited
)

// A conn carries probes of one lane, one at a time.
type conn struct {
	loop  *loop
	lane  *lane
	place int
	wire  wire
	tag   uint32 // changes with each socket, so that old events are told apart
	open  bool
	used  bool // connected before

	phase    phase
	orphan   bool // the inquiry that sent the probe has ended
	inquiry  *Inquiry
	sample   Sample // instants since the loop's epoch
	deadline time.Duration
	written  int
	response load.Response
	buffer   []byte
	filled   int
}

func newConn(l *loop, a *lane, place int) *conn {
	return &conn{loop: l, lane: a, place: place, buffer: make([]byte, bufferSize)}
}

func (c *conn) busy() bool { return c.phase != idle }

// probe begins the probe that was due then.
func (c *conn) probe(due, now time.Duration) {
	c.inquiry, c.orphan, c.phase = c.loop.inquiry, false, writing
	c.sample = Sample{Due: due, Began: now, Sent: now}
	c.deadline = now + c.loop.options.Timeout
	c.written, c.filled = 0, 0
	c.response.Reset(c.inquiry.question.Method == "HEAD")
	if !c.open && !c.connect() {
		return
	}
	c.write()
}

func (c *conn) connect() bool {
	if c.used && c.lane.kind == Kept {
		c.lane.reconnects = append(c.lane.reconnects, c.loop.now())
	}
	c.tag++
	var err error
	if c.wire, err = dial(c.lane.target.Address); err == nil {
		c.open, c.used = true, true
		err = c.loop.poller.Add(c.wire.descriptor(), c.place, c.tag)
	}
	if err != nil {
		c.fail(err, c.loop.now())
		return false
	}
	return true
}

// event takes the poller's flags. Its notices come once for each change, so
// everything that they announce must be consumed.
func (c *conn) event(flags uint32) {
	if !c.open {
		return
	}
	if c.phase == writing {
		c.write()
	}
	if c.open && c.phase != writing && flags&(unix.EPOLLIN|ended) != 0 {
		c.read(flags&ended != 0)
	}
}

const ended = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// write hands the request to the kernel, as far as it will take it.
func (c *conn) write() {
	for c.phase == writing {
		rest := c.inquiry.request[c.written:]
		now := c.loop.now()
		n, err := c.wire.write(rest)
		if errors.Is(err, unix.EAGAIN) {
			return // still connecting
		}
		if err != nil {
			c.fail(err, c.loop.now())
			return
		}
		if c.written == 0 {
			c.sample.Sent = now
		}
		if c.written += n; c.written == len(c.inquiry.request) {
			c.phase = reading
		}
	}
}

// read takes what has come. A read that leaves room has emptied the socket;
// only the other side's end may be behind it, which ended announces.
func (c *conn) read(ended bool) {
	for c.open {
		room := c.buffer[c.filled:]
		n, err := c.wire.read(room)
		now := c.loop.now()
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case c.phase == idle:
			c.lane.idleCloses = append(c.lane.idleCloses, now)
			c.close()
			return
		case err != nil:
			c.fail(err, now)
			return
		case n == 0:
			c.endOfStream(now)
			return
		}
		c.filled += n
		c.parse(now)
		if n < len(room) && !ended {
			return
		}
	}
}

func (c *conn) parse(now time.Duration) {
	used, done, err := c.response.Parse(c.buffer[:c.filled], c.filled == len(c.buffer))
	if err != nil {
		c.fail(err, now)
		return
	}
	c.filled = copy(c.buffer, c.buffer[used:c.filled])
	if !done {
		return
	}
	if c.filled > 0 {
		c.fail(load.ErrUnasked, now)
		return
	}
	c.complete(now)
}

func (c *conn) endOfStream(now time.Duration) {
	if c.response.EOF() {
		c.complete(now)
		return
	}
	c.finish(Example{Class: load.EOF, Text: "connection closed before the answer was complete"}, now)
	c.close()
}

func (c *conn) complete(now time.Duration) {
	verdict, class := c.inquiry.question.classify(&c.response)
	e := Example{Class: class, Status: c.response.Status}
	if verdict == Wrong {
		e.Marker = c.response.Marker.Marker()
	}
	c.end(verdict, e, now)
	if c.lane.kind == Fresh || c.response.Close {
		c.close()
	}
}

func (c *conn) fail(err error, now time.Duration) {
	class := load.ClassOf(err)
	c.finish(Example{Class: class, Text: err.Error()}, now)
	c.close()
}

func (c *conn) timeOut(now time.Duration) {
	text := "no complete answer in time"
	if c.phase == writing {
		text = "no connection in time"
	}
	c.finish(Example{Class: load.Timeout, Text: text}, now)
	c.close()
}

func (c *conn) finish(e Example, now time.Duration) {
	c.end(c.inquiry.question.classifyFailure(e.Class), e, now)
}

// end records the probe, unless nobody asks any more.
func (c *conn) end(verdict Verdict, e Example, now time.Duration) {
	c.phase = idle
	if c.orphan {
		return
	}
	s := c.sample
	s.Received, s.Status, s.Class, s.Verdict = now, uint16(e.Status), e.Class, verdict
	e.At = now
	c.lane.take(s, e)
}

// close gives the socket up, with a reset where it is still connected.
func (c *conn) close() {
	c.phase, c.filled = idle, 0
	if c.open {
		c.open = false
		c.wire.close()
	}
}
