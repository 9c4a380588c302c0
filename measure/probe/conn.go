package probe

import (
	"errors"
	"io"
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
	speaker  speaker
	manner   manner
	out      []byte // is to be sent
	buffer   []byte
	filled   int
}

func newConn(l *loop, a *lane, place int) *conn {
	return &conn{loop: l, lane: a, place: place, buffer: make([]byte, bufferSize)}
}

func (c *conn) busy() bool { return c.phase != idle }

// probe begins the probe that was due then.
func (c *conn) probe(due, now time.Duration) {
	c.prepare(c.loop.inquiry)
	c.orphan, c.phase = false, writing
	c.sample = Sample{Due: due, Began: now, Sent: now}
	c.deadline = now + c.loop.options.Timeout
	if !c.open && !c.connect() {
		return
	}
	request, err := c.speaker.ask()
	c.out, c.filled = append(c.out, request...), 0
	if err != nil {
		c.fail(err, c.loop.now())
		return
	}
	c.write()
}

// prepare makes the question of an inquiry the one that the connection asks.
func (c *conn) prepare(i *Inquiry) {
	if c.inquiry == i {
		return
	}
	c.inquiry = i
	if m := i.question.manner(); c.speaker == nil || c.manner != m {
		c.close()
		c.manner, c.speaker = m, i.speaker()
		return
	}
	c.speaker.turn(&i.question)
}

func (c *conn) connect() bool {
	if c.used && c.lane.kind == Kept {
		c.lane.reconnects = append(c.lane.reconnects, c.loop.now())
	}
	c.tag++
	c.speaker.open()
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
	if len(c.out) > 0 {
		c.write()
	}
	if c.open && c.phase != writing && flags&(unix.EPOLLIN|ended) != 0 {
		c.read(flags&ended != 0)
	}
}

const ended = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// write hands what is to be sent to the kernel, as far as it will take it.
func (c *conn) write() {
	for rest := c.out; len(rest) > 0; {
		now := c.loop.now()
		n, err := c.wire.write(rest)
		if errors.Is(err, unix.EAGAIN) {
			c.out = c.out[:copy(c.out, rest)]
			return // still connecting, or there is no room
		}
		if err != nil {
			c.lost(err, c.loop.now())
			return
		}
		if c.phase == writing && c.sample.Sent == c.sample.Began {
			c.sample.Sent = now
		}
		rest = rest[n:]
	}
	if c.out = c.out[:0]; c.phase == writing {
		c.phase = reading
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
		case err != nil:
			c.lost(err, now)
			return
		case n == 0 && c.phase == idle:
			c.lost(io.EOF, now)
			return
		case n == 0:
			c.endOfStream(now)
			return
		}
		c.filled += n
		c.hear(now)
		if n < len(room) && !ended {
			return
		}
	}
}

// hear gives the speaker what has come. Where the other side says something
// while no probe is on its way, it may want an answer to that.
func (c *conn) hear(now time.Duration) {
	used, reply, done, err := c.speaker.hear(c.buffer[:c.filled], c.filled == len(c.buffer))
	c.filled = copy(c.buffer, c.buffer[used:c.filled])
	if err != nil {
		c.lost(err, now)
		return
	}
	if done && c.phase != idle {
		c.complete(now)
	}
	if c.open && len(reply) > 0 {
		c.out = append(c.out, reply...)
		c.write()
	}
}

// lost ends a connection: with the probe that it carries, if there is one.
func (c *conn) lost(err error, now time.Duration) {
	if c.phase != idle {
		c.fail(err, now)
		return
	}
	c.lane.idleCloses = append(c.lane.idleCloses, now)
	c.close()
}

func (c *conn) endOfStream(now time.Duration) {
	if c.speaker.end() {
		c.complete(now)
		return
	}
	c.finish(Example{Class: load.EOF, Text: "connection closed before the answer was complete"}, now)
	c.close()
}

func (c *conn) complete(now time.Duration) {
	status, origin := c.speaker.answer()
	verdict, class := c.inquiry.question.classify(status, origin)
	e := Example{Class: class, Status: status}
	if verdict == Wrong {
		e.Marker = origin.Marker()
	}
	c.end(verdict, e, now)
	if c.lane.kind == Fresh || !c.speaker.reusable() {
		c.close()
	}
}

func (c *conn) fail(err error, now time.Duration) {
	class := load.ClassOf(err)
	if c.open && !c.speaker.secured() && (class == load.Other || class == load.Malformed) {
		class = load.TLS // it has no classes of its own for what goes wrong
	}
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
	c.end(c.inquiry.question.classifyFailure(e.Class, c.speaker.secured()), e, now)
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
	c.phase, c.filled, c.out = idle, 0, c.out[:0]
	if c.open {
		c.open = false
		c.speaker.close()
		c.wire.close()
	}
}
