package known

import (
	"bytes"
	"errors"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// none is the record of a connection that has no request in hand.
const none = -1

type conn struct {
	fd     int
	port   uint16
	number uint32 // of requests that were read
	in     [4096]byte
	n      int
	// record is the request in hand, as an index of the server's records.
	record int
	// at is when the next piece of the answer is due, piece its number, and
	// place the connection's in the queue.
	at    int64
	piece int
	place int
}

const requestEnd = "\r\n\r\n"

// readable reads all that there is. Where the kernel's instant is that of
// bytes that end a request, it is the request's.
func (s *Server) readable(c *conn) {
	for {
		if c.n == len(c.in) {
			s.hangUp(c) // a request longer than anybody sends here
			return
		}
		n, control, _, _, err := unix.Recvmsg(c.fd, c.in[c.n:], s.control, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			s.hangUp(c)
			return
		}
		c.n += n
		s.begin(c, arrival(s.control[:control]))
	}
}

// arrival is the kernel's instant for the bytes that were received, or now
// where it told none.
func arrival(control []byte) int64 {
	header := int(unsafe.Sizeof(unix.Cmsghdr{}))
	if len(control) >= header+int(unsafe.Sizeof(unix.Timespec{})) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS {
			return (*unix.Timespec)(unsafe.Pointer(&control[header])).Nano()
		}
	}
	return now()
}

// begin takes a request off the input, if one is complete and none in hand.
func (s *Server) begin(c *conn, arrived int64) {
	if c.record != none {
		return
	}
	end := bytes.Index(c.in[:c.n], []byte(requestEnd))
	if end < 0 {
		return
	}
	c.n = copy(c.in[:], c.in[end+len(requestEnd):c.n])
	read := now()
	c.record = len(s.records)
	s.records = append(s.records, Record{Port: c.port, Number: c.number, Arrived: arrived, Read: read, Outcome: Open})
	c.number++
	c.piece = 0
	c.at = read + int64(s.o.Delay.Draw(s.random))
	if c.at <= read {
		s.answer(c)
		return
	}
	s.due.add(c)
}

// answer sends the next piece of the answer, or fails the request. The whole
// answer is smaller than any socket's buffer, so that a write cannot block.
func (s *Server) answer(c *conn) {
	r := &s.records[c.record]
	nth := int64(c.record) + 1
	if s.o.ResetEvery > 0 && nth%s.o.ResetEvery == 0 {
		r.Outcome, r.Written = Reset, now()
		c.record = none
		s.reset(c)
		return
	}
	failed := s.o.FailEvery > 0 && nth%s.o.FailEvery == 0
	pieces := max(1, s.o.Pieces)
	s.scratch = s.scratch[:0]
	if c.piece == 0 {
		s.head(c, failed, pieces*len(piece))
	}
	s.scratch = append(s.scratch, piece...)
	c.piece++
	last := c.piece == pieces
	if last {
		r.Written = now()
	}
	if _, err := unix.SendmsgN(c.fd, s.scratch, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		r.Written = 0
		s.hangUp(c)
		return
	}
	if !last {
		c.at += int64(s.o.Gap)
		s.due.add(c)
		return
	}
	r.Outcome = Answered
	if failed {
		r.Outcome = Failed
	}
	c.record = none
	s.begin(c, r.Written)
}

const piece = "gatemark\n"

func (s *Server) head(c *conn, failed bool, length int) {
	r := s.records[c.record]
	status := "HTTP/1.1 200 OK\r\nContent-Length: "
	if failed {
		status = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: "
	}
	s.scratch = append(s.scratch, status...)
	s.scratch = strconv.AppendInt(s.scratch, int64(length), 10)
	s.scratch = append(s.scratch, "\r\nGatemark-Request: "...)
	s.scratch = strconv.AppendInt(s.scratch, int64(c.record)+1, 10)
	// Of an answer that trickles, it is what was applied before the first
	// byte.
	s.scratch = append(s.scratch, "\r\nGatemark-Delay-Applied: "...)
	s.scratch = strconv.AppendInt(s.scratch, now()-r.Arrived, 10)
	s.scratch = append(s.scratch, requestEnd...)
}

// reset ends the connection with a RST.
func (s *Server) reset(c *conn) {
	// An error would show as a FIN, which the tests of this package see.
	_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	s.hangUp(c)
}

func (s *Server) hangUp(c *conn) {
	s.due.drop(c)
	delete(s.conns, c.fd)
	// The descriptor is gone whatever close says.
	_ = unix.Close(c.fd)
}
