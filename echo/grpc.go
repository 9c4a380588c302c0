package echo

import (
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/net/http2"

	"github.com/gatemark/gatemark/echo/fault"
)

// gRPC is spoken by hand: five bytes in front of each message, and a status
// behind them. A server of google.golang.org/grpc would bring its own HTTP/2,
// several times the cost of these lines, and no answer that is wrong on
// purpose.

const (
	grpcPrefix   = 5
	grpcInvalid  = 3
	grpcInternal = 13
	// maxMessages bounds what is kept of a request, in bytes.
	maxMessages = 64 << 20
)

// The standard health service, and its messages.
const (
	healthService = "/grpc.health.v1.Health/"
	healthCheck   = healthService + "Check"
	serving       = "\x00\x00\x00\x00\x02\x08\x01"
	notServing    = "\x00\x00\x00\x00\x02\x08\x02"
)

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// gRPC answers a call of any method with the messages that it came with.
func (k *call) gRPC() {
	if !framed(k.body) {
		k.gRPCStatus(grpcInternal, "the request is no sequence of messages")
		return
	}
	if err := k.judge(); errors.Is(err, errGone) {
		return
	} else if err != nil {
		k.gRPCStatus(grpcInvalid, err.Error())
		return
	}
	switch k.verdict.Kind {
	case fault.None, fault.TrickleKind:
		k.gRPCAnswer()
	case fault.StatusKind:
		k.gRPCStatus(k.verdict.GRPC, "a fault")
	case fault.GarbageKind:
		k.gRPCGarbage()
	default:
		k.tally(0)
		k.wrong()
	}
}

func (k *call) gRPCAnswer() {
	k.code = http.StatusOK // whatever the status of health checks is
	k.tally(http.StatusOK)
	k.server.counters.grpc[0].Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gRPCHead()
	switch {
	case k.health:
		k.gRPCHealth()
	case len(k.body) > 0:
		k.send(k.body, false)
	}
	k.gRPCTrailer()
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

// gRPCHead appends the header of a response; compressed messages stay so.
func (k *call) gRPCHead() {
	k.finish(k.beginGRPCHead(false))
}

func (k *call) beginGRPCHead(last bool) int {
	frame := k.beginHead(last)
	k.out = appendField(k.out, "content-type", k.contentType[:min(len(k.contentType), 1<<10)])
	if k.encoding != "" {
		k.out = appendField(k.out, "grpc-encoding", k.encoding[:min(len(k.encoding), 1<<10)])
	}
	return frame
}

// gRPCTrailer ends a response that went well.
func (k *call) gRPCTrailer() {
	if k.left {
		return
	}
	frame := k.begin(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, k.id)
	k.out = appendField(k.out, "grpc-status", "0")
	k.finish(frame)
	k.leave()
}

// gRPCStatus answers with a status and no message.
func (k *call) gRPCStatus(status int, message string) {
	k.code = http.StatusOK
	k.tally(http.StatusOK)
	k.server.counters.grpc[status].Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	frame := k.beginGRPCHead(true)
	k.out = appendNumber(k.out, "grpc-status", int64(status))
	if status != 0 {
		k.out = appendField(k.out, "grpc-message", message)
	}
	k.finish(frame)
	k.leave()
}

// gRPCHealth sends the state of health: once, or to who watches, with every
// change.
func (k *call) gRPCHealth() {
	for last := ""; ; {
		set := k.server.faults.Load()
		state := serving
		if set.HealthStatus() >= 400 {
			state = notServing
		}
		if state != last && !k.send([]byte(state), false) {
			return
		}
		last = state
		if k.target == healthCheck || k.flushLocked() != nil || !k.changed(set) {
			return
		}
	}
}

// changed waits until the faults are others, without the connection's lock.
func (k *call) changed(set *fault.Set) bool {
	k.mu.Unlock()
	defer k.mu.Lock()
	select {
	case <-set.Replaced():
		return !k.server.closing.Load()
	case <-k.gone:
		return false
	}
}

// gRPCGarbage answers with a message of which most is missing.
func (k *call) gRPCGarbage() {
	k.code = http.StatusOK
	k.tally(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gRPCHead()
	k.send([]byte("\x00\x00\x00\x01\x00gatemark"), false)
	k.gRPCTrailer()
}
