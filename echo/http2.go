package echo

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// HTTP/2 is served by a loop of our own around golang.org/x/net's framing and
// header compression: the servers of x/net and of net/http need several
// goroutines and system calls for each request, more than some gateways do.
// Here requests that have nothing to wait for are answered by the goroutine
// that reads them, and responses are written together.

const (
	// maxStreams is how many requests a connection may have open. A gateway is
	// free to put all of its requests on one connection.
	maxStreams = 10_000
	// streamWindow is what a client may send ahead on a stream, connWindow on
	// a connection, in bytes.
	streamWindow = 1 << 20
	connWindow   = 1 << 30
	firstWindow  = 65_535 // of either side, until it says otherwise
)

// An http2Conn serves one connection.
type http2Conn struct {
	server  *Server
	wire    *wire
	conn    net.Conn
	reader  *bufio.Reader
	framer  *http2.Framer
	decoder *hpack.Decoder
	last    uint32 // the last stream
	taken   int64  // bytes of bodies since the client's window grew

	// What HEADERS began, until its last CONTINUATION.
	current *call
	ending  bool
	size    int

	mu       sync.Mutex // guards all that follows
	room     *sync.Cond // windows have grown, or something has ended
	out      []byte     // frames not written yet
	window   int64      // what may be sent
	initial  int64      // the same of new streams
	maxFrame int
	calls    map[uint32]*call
	ended    bool
	slow     sync.WaitGroup // calls that have goroutines of their own
}

func (s *Server) serveHTTP2(w *wire, conn net.Conn) {
	c := &http2Conn{
		server: s, wire: w, conn: conn, reader: bufio.NewReaderSize(conn, 32<<10), out: make([]byte, 0, 4<<10),
		window: firstWindow, initial: firstWindow, maxFrame: 16 << 10, calls: map[uint32]*call{},
	}
	c.room = sync.NewCond(&c.mu)
	c.framer = http2.NewFramer(nil, c.reader)
	c.framer.SetReuseFrames()
	c.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) { c.current.field(f.Name, f.Value) })
	s.http2.add(c)
	err := c.run()
	var broken http2.ConnectionError
	if errors.As(err, &broken) {
		c.goAway(http2.ErrCode(broken))
	}
	s.http2.remove(c)
	c.end()
	conn.Close() // the peer may have gone first
	w.Close()
	c.slow.Wait()
}

// run serves until an error, which is the connection's end.
func (c *http2Conn) run() error {
	if err := c.greet(); err != nil {
		return err
	}
	for {
		frame, err := c.framer.ReadFrame()
		var broken http2.StreamError
		switch {
		case errors.As(err, &broken):
			c.reset(broken.StreamID, broken.Code)
		case err != nil:
			return err
		default:
			if err := c.take(frame); err != nil {
				return err
			}
		}
		// Answers to requests that came together go together.
		if c.reader.Buffered() == 0 {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
}

// greet reads the client's preface and sends the server's.
func (c *http2Conn) greet() error {
	var got [len(http2.ClientPreface)]byte
	if _, err := io.ReadFull(c.reader, got[:]); err != nil {
		return err
	}
	if string(got[:]) != http2.ClientPreface {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.mu.Lock()
	frame := c.begin(http2.FrameSettings, 0, 0)
	c.setting(http2.SettingMaxConcurrentStreams, maxStreams)
	c.setting(http2.SettingInitialWindowSize, streamWindow)
	c.finish(frame)
	c.grow(0, connWindow-firstWindow)
	c.mu.Unlock()
	return c.flush()
}

// take does what a frame asks for.
func (c *http2Conn) take(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.HeadersFrame:
		if err := c.open(f.StreamID, f.StreamEnded()); err != nil {
			return err
		}
		return c.headers(f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return c.headers(f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.DataFrame:
		return c.data(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.WindowUpdateFrame:
		return c.grown(f.StreamID, int64(f.Increment))
	case *http2.PingFrame:
		if !f.IsAck() {
			c.mu.Lock()
			ack := c.begin(http2.FramePing, http2.FlagPingAck, 0)
			c.out = append(c.out, f.Data[:]...)
			c.finish(ack)
			c.mu.Unlock()
		}
	case *http2.RSTStreamFrame:
		c.mu.Lock()
		if k := c.calls[f.StreamID]; k != nil {
			k.leave()
		}
		c.mu.Unlock()
	}
	return nil
}

// open begins a stream, or its trailers.
func (c *http2Conn) open(id uint32, ending bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending, c.size = ending, 0
	if c.current = c.calls[id]; c.current != nil {
		c.current.trailers = true
		return nil
	}
	c.current = &call{http2Conn: c, id: id, window: c.initial}
	switch {
	case id%2 == 0:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	case id <= c.last || len(c.calls) >= maxStreams:
		// Nobody waits for it, but it must be decoded: the compression of all
		// that follows depends on it.
		c.current.stray = true
		if id > c.last {
			c.appendReset(id, http2.ErrCodeRefusedStream)
		}
	default:
		c.calls[id] = c.current
	}
	c.last = max(c.last, id)
	return nil
}

// headers takes a part of a header block.
func (c *http2Conn) headers(fragment []byte, last bool) error {
	if c.size += len(fragment); c.size > maxHead {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	if _, err := c.decoder.Write(fragment); err != nil {
		return http2.ConnectionError(http2.ErrCodeCompression)
	}
	if !last {
		return nil
	}
	if err := c.decoder.Close(); err != nil {
		return http2.ConnectionError(http2.ErrCodeCompression)
	}
	if c.ending && !c.current.stray {
		c.current.dispatch()
	}
	return nil
}

// data takes a part of a request's body.
func (c *http2Conn) data(f *http2.DataFrame) error {
	size := int64(f.Length)
	c.mu.Lock()
	if c.taken += size; c.taken >= connWindow/2 {
		c.grow(0, c.taken)
		c.taken = 0
	}
	k := c.calls[f.StreamID]
	if k == nil || k.complete {
		c.mu.Unlock()
		return nil
	}
	if k.taken += size; k.taken >= streamWindow/2 && !f.StreamEnded() {
		c.grow(f.StreamID, k.taken)
		k.taken = 0
	}
	c.mu.Unlock()
	if k.keeps() {
		if len(k.body)+len(f.Data()) > maxMessages {
			c.reset(k.id, http2.ErrCodeEnhanceYourCalm)
			return nil
		}
		k.body = append(k.body, f.Data()...)
	}
	if f.StreamEnded() {
		k.dispatch()
	}
	return nil
}

// settings takes what the client wants.
func (c *http2Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingInitialWindowSize:
			for _, k := range c.calls {
				k.window += int64(s.Val) - c.initial
			}
			c.initial = int64(s.Val)
			c.room.Broadcast()
		case http2.SettingMaxFrameSize:
			c.maxFrame = int(min(s.Val, 1<<20))
		}
		return nil
	})
	c.finish(c.begin(http2.FrameSettings, http2.FlagSettingsAck, 0))
	return err
}

// grown lets more be sent.
func (c *http2Conn) grown(id uint32, by int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == 0 {
		c.window += by
	} else if k := c.calls[id]; k != nil {
		k.window += by
	}
	c.room.Broadcast()
	if c.window > 1<<31-1 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	return nil
}

// reset ends one stream.
func (c *http2Conn) reset(id uint32, code http2.ErrCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.appendReset(id, code)
	if k := c.calls[id]; k != nil {
		k.leave()
	}
}

// goAway asks the client to open no more streams.
func (c *http2Conn) goAway(code http2.ErrCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame := c.begin(http2.FrameGoAway, 0, 0)
	c.out = appendUint32(appendUint32(c.out, c.last), uint32(code))
	c.finish(frame)
	_ = c.flushLocked() // an error shows with the next read
}

// end frees everybody who waits for this connection.
func (c *http2Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, k := range c.calls {
		k.leave()
	}
	c.room.Broadcast()
}

func (c *http2Conn) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flushLocked()
}

func (c *http2Conn) flushLocked() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// http2Conns are those that are open.
type http2Conns struct {
	mu    sync.Mutex
	conns map[*http2Conn]struct{}
}

func (h *http2Conns) add(c *http2Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = map[*http2Conn]struct{}{}
	}
	h.conns[c] = struct{}{}
}

func (h *http2Conns) remove(c *http2Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}

// goAway asks all clients to open no more streams.
func (h *http2Conns) goAway() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		c.goAway(http2.ErrCodeNo)
	}
}
