package echo

import (
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gatemark/gatemark/echo/fault"
)

// gRPC is spoken by hand: five bytes in front of each message, and a status
// behind them. A server of google.golang.org/grpc would bring its own HTTP/2,
// several times the cost of these lines, and no answer that is wrong on
// purpose.

const (
	grpcPrefix   = 5
	grpcInternal = 13
	maxMessages  = 64 << 20
)

// The standard health service, and its messages.
const (
	healthCheck = "/grpc.health.v1.Health/Check"
	healthWatch = "/grpc.health.v1.Health/Watch"
	serving     = "\x00\x00\x00\x00\x02\x08\x01"
	notServing  = "\x00\x00\x00\x00\x02\x08\x02"
)

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// gRPC answers a call of any method with the messages that it came with.
func (c *call) gRPC() {
	c.health = c.r.URL.Path == healthCheck || c.r.URL.Path == healthWatch
	messages, err := io.ReadAll(io.LimitReader(c.r.Body, maxMessages))
	if err != nil {
		panic(http.ErrAbortHandler) // the stream has ended
	}
	if !framed(messages) {
		c.gRPCStatus(grpcInternal, "the request is no sequence of messages")
		return
	}
	if err := c.judge(); err != nil {
		c.gRPCStatus(3, err.Error())
		return
	}
	switch c.verdict.Kind {
	case fault.None, fault.TrickleKind:
	case fault.StatusKind:
		c.gRPCStatus(c.verdict.GRPC, "a fault")
		return
	default:
		c.tally(0)
		c.wrongMessage()
		return
	}
	if c.health {
		c.gRPCHealth()
		return
	}
	c.gRPCHead()
	c.tally(http.StatusOK)
	c.w.Header()[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	c.server.counters.grpc[0].Add(1)
	_, _ = c.w.Write(messages) // an error is the stream's end
}

// framed reports whether data is whole messages.
func framed(data []byte) bool {
	for len(data) > 0 {
		if len(data) < grpcPrefix {
			return false
		}
		size := uint64(binary.BigEndian.Uint32(data[1:grpcPrefix]))
		if uint64(len(data)-grpcPrefix) < size {
			return false
		}
		data = data[grpcPrefix+size:]
	}
	return true
}

// gRPCHead sets the fields of a response; compressed messages stay so.
func (c *call) gRPCHead() {
	c.head()
	h := c.w.Header()
	h["Content-Type"] = c.r.Header["Content-Type"]
	if encoding := c.r.Header["Grpc-Encoding"]; len(encoding) > 0 {
		h["grpc-encoding"] = encoding[:1]
	}
}

// gRPCStatus answers with a status and no message.
func (c *call) gRPCStatus(status int, message string) {
	c.tally(http.StatusOK)
	c.server.counters.grpc[status].Add(1)
	c.gRPCHead()
	c.w.Header()["grpc-status"] = []string{strconv.Itoa(status)}
	if status != 0 {
		c.w.Header()["grpc-message"] = []string{message}
	}
	c.w.WriteHeader(http.StatusOK)
}

// gRPCHealth answers for the standard health service.
func (c *call) gRPCHealth() {
	c.gRPCHead()
	c.tally(http.StatusOK)
	c.w.Header()[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	for last := ""; ; {
		set := c.server.faults.Load()
		state := serving
		if set.HealthStatus() >= 400 {
			state = notServing
		}
		if state != last {
			if _, err := io.WriteString(c.w, state); err != nil {
				return
			}
			last = state
		}
		if c.r.URL.Path == healthCheck {
			return
		}
		c.flush()
		select {
		case <-set.Replaced():
		case <-c.r.Context().Done():
			return
		}
		if c.server.closing.Load() {
			return
		}
	}
}

// wrongMessage is wrong in gRPC's own way, where there is one.
func (c *call) wrongMessage() {
	if c.verdict.Kind != fault.GarbageKind {
		c.wrong()
		return
	}
	// A message of which most is missing.
	c.gRPCHead()
	c.w.Header()[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	_, _ = io.WriteString(c.w, "\x00\x00\x00\x01\x00gatemark")
}
