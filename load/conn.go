package load

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// connState is how far a connection is.
type connState uint8

const (
	closed connState = iota
	connecting
	handshaking // TLS
	open
)

// maxCarry bounds what is kept of an unfinished line or frame, in bytes.
const maxCarry = 1 << 20

// A conn is one of a lane's connections: a place that one socket after the
// other takes.
type conn struct {
	loop *loop
	lane *lane
	slot int
	// generation changes with each socket, so that what the kernel still says
	// of the last one is told apart.
	generation uint32
	fd         int
	state      connState
	codec      codec
	secure     *secure // nil without TLS

	in      []byte // came, and is not used yet
	out     []byte // is to be sent
	sending []byte // is being sent, or was
	// busy is set while the kernel works on sending.
	busy bool
	// dirty is set while the connection is among those to be flushed.
	dirty bool
	// listed is set while it is in the lane's list of connections with room.
	listed bool
	// retiring is set when it must not carry another request.
	retiring bool

	flight  int       // exchanges that were sent
	carried int       // exchanges since it was opened
	waiting *exchange // the one that waits for the connection to open
	begun   int64     // when it began to connect
	rested  int64     // not to be used before
	// certificate is the serial number of the other side's, if there are records.
	certificate string
}

// usable reports whether a request may be given to the connection.
func (c *conn) usable() bool {
	switch c.state {
	case closed:
		return c.waiting == nil
	case open:
		return !c.retiring && c.codec.room() > 0
	}
	return false
}

// carry gives an exchange to the connection, which opens first if it must.
func (c *conn) carry(x *exchange) {
	x.conn = c
	if c.state == open {
		c.request(x)
		return
	}
	// That it is sent later than it could be is not the attacker's doing.
	x.ready = never
	c.waiting = x
	c.open()
}

func (c *conn) request(x *exchange) {
	c.flight++
	c.carried++
	if c.loop.fresh > 0 && fraction(c.loop.options.Seed+1, x.number) < c.loop.fresh {
		c.retiring = true
	}
	c.loop.stamp = append(c.loop.stamp, x)
	if c.secure != nil {
		c.secure.plain = c.codec.request(c.secure.plain[:0], x)
		c.encrypt()
	} else {
		c.out = c.codec.request(c.out, x)
	}
	c.loop.soil(c)
	if c.usable() {
		c.lane.list(c)
	}
}

// open begins to connect.
func (c *conn) open() {
	c.begun, c.retiring, c.flight, c.carried, c.busy = c.loop.now, false, 0, 0, false
	c.in, c.out, c.certificate = c.in[:0], c.out[:0], ""
	c.generation++
	fd, err := c.lane.socket(c.slot)
	if err != nil {
		c.fail(err)
		return
	}
	c.fd, c.state = fd, connecting
	c.loop.opened++
	if err := c.loop.poller.connect(c, c.lane.sockaddr(c.slot)); err != nil {
		c.fail(err)
	}
}

// connected takes the outcome of connecting.
func (c *conn) connected(errno unix.Errno) {
	if errno != 0 {
		c.fail(errno)
		return
	}
	now := c.loop.clock()
	c.loop.connect.Record(now - c.begun)
	if c.lane.tls == nil {
		c.ready()
		return
	}
	c.state, c.begun = handshaking, now
	c.secure = newSecure(&c.out, c.loop.buffer(), c.loop.scratch, c.lane.tls)
	c.advance()
}

// advance goes on with the handshake as far as there are bytes.
func (c *conn) advance() {
	done, err := c.secure.handshake()
	c.loop.soil(c)
	switch {
	case err != nil:
		c.loop.flush() // the alert
		c.fail(err)
	case done:
		c.loop.handshake.Record(c.loop.clock() - c.begun)
		if c.secure.resumed() {
			c.loop.resumed++
		}
		if c.loop.records != nil {
			c.certificate = c.secure.serial()
		}
		c.ready()
	}
}

// ready begins to use an open connection.
func (c *conn) ready() {
	c.state = open
	if c.secure == nil {
		c.out = c.codec.greet(c.out)
	} else {
		c.secure.plain = c.codec.greet(c.secure.plain[:0])
		c.encrypt()
	}
	c.loop.soil(c)
	c.loop.connectionReady(c)
	c.proceed()
	if c.secure != nil && c.state == open { // application data behind the handshake
		c.received(nil)
	}
}

// proceed sends the request that waits for the connection, or says that there
// is room for another.
func (c *conn) proceed() {
	if x := c.waiting; x != nil {
		if c.usable() {
			c.waiting = nil
			c.request(x)
		}
		return
	}
	c.lane.offer(c)
}

// encrypt seals what the codec wants to send.
func (c *conn) encrypt() {
	if len(c.secure.plain) == 0 {
		return
	}
	if err := c.secure.write(); err != nil {
		c.fail(err)
	}
}

// received takes bytes from the socket.
func (c *conn) received(data []byte) {
	c.loop.bytesIn += int64(len(data))
	if c.secure == nil {
		c.parse(data)
		return
	}
	c.secure.take(data)
	if c.state == handshaking {
		c.advance()
		return
	}
	for generation := c.generation; c.generation == generation && c.state == open; {
		plain, err := c.secure.read()
		if err != nil {
			if !errors.Is(err, errDry) {
				c.end(err)
			}
			break
		}
		c.parse(plain)
	}
	if c.secure != nil && c.state == open {
		c.encrypt()
	}
}

// parse hands plain bytes to the codec, behind those that it has left.
func (c *conn) parse(data []byte) {
	kept := len(c.in) > 0
	if kept {
		c.in = append(c.in, data...)
		data = c.in
	}
	generation, out := c.generation, &c.out
	if c.secure != nil {
		c.secure.plain = c.secure.plain[:0]
		out = &c.secure.plain
	}
	used, reply, err := c.codec.receive(data, len(data) >= maxCarry, *out)
	*out = reply
	if c.generation != generation {
		return // an answer ended the connection
	}
	if err != nil {
		c.fail(err)
		return
	}
	switch {
	case kept:
		c.in = c.in[:copy(c.in, c.in[used:])]
	case used < len(data):
		c.in = append(c.in[:0], data[used:]...)
	}
	if len(reply) > 0 {
		if c.secure != nil {
			c.encrypt()
		}
		c.loop.soil(c)
	}
	c.settle()
}

// settle does what follows from answers: the connection ends, or takes more.
func (c *conn) settle() {
	if c.state != open {
		return
	}
	if c.retiring && c.flight == 0 {
		c.close()
		c.loop.retired(c)
		return
	}
	if c.waiting != nil || c.usable() {
		c.proceed()
	} else if c.flight == 0 && !c.retiring && c.codec.room() == 0 && c.greeted() {
		c.close() // the other side wants no more requests on it
		c.loop.retired(c)
	}
}

// greeted reports whether having no room means that there will be none.
func (c *conn) greeted() bool {
	g, ok := c.codec.(interface{ greeted() bool })
	return !ok || g.greeted()
}

// answered implements owner.
func (c *conn) answered(x *exchange, a *answer) {
	c.flight--
	c.loop.finish(x, x.request.expect.classify(a), a)
}

// failed implements owner.
func (c *conn) failed(x *exchange, class Class) {
	c.flight--
	c.loop.finish(x, class, nil)
}

// end takes the other side's close, or a socket's error.
func (c *conn) end(err error) {
	if c.state == open && errors.Is(err, io.EOF) {
		c.codec.ended()
	}
	if c.state != closed {
		c.fail(err)
	}
}

// fail gives the connection up, and with it all that it carries.
func (c *conn) fail(err error) {
	was := c.state
	class := ClassOf(err)
	if was == handshaking && class != Timeout && class != Reset {
		class = TLS
	}
	if c.flight == 0 && c.waiting == nil && was == open {
		if errors.Is(err, ErrUnasked) {
			c.loop.unasked++
		} else {
			c.loop.idleCloses++
		}
	}
	c.close()
	c.loop.abandon(c, class)
	if x := c.waiting; x != nil {
		c.waiting = nil
		c.loop.finish(x, class, nil)
	}
	c.loop.broken(c, was, class)
}

// close gives the socket back. Nothing that the kernel still says of it
// matters.
func (c *conn) close() {
	if c.state == closed {
		return
	}
	c.loop.poller.disconnect(c)
	if c.secure != nil {
		c.secure.abandon()
		c.loop.giveBack(c.secure)
		c.secure = nil
	}
	c.state = closed
	c.in, c.out = c.in[:0], c.out[:0]
	c.generation++
}

// quietLimit is the size, in bytes, up to which a request is not waited for by
// itself: an answer to it shows that it was sent.
const quietLimit = 4 << 10

// flush hands to the kernel what is to be sent.
func (c *conn) flush() {
	if c.busy || len(c.out) == 0 || c.state == closed || c.state == connecting {
		return
	}
	c.sending, c.out = c.out, c.sending[:0]
	c.loop.bytesOut += int64(len(c.sending))
	quiet := c.loop.quiet && len(c.sending) <= quietLimit && c.state == open
	c.busy = !quiet
	if err := c.loop.poller.send(c, quiet); err != nil {
		c.busy = false
		c.fail(err)
	}
}

// sent takes the outcome of sending everything.
func (c *conn) sent(err error) {
	c.busy = false
	if err != nil {
		c.fail(err)
		return
	}
	if len(c.out) > 0 {
		c.flush()
	}
}
