package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// A Class says how one request ended. Every request has exactly one.
type Class uint8

// The classes. An answer that came in full is OK or, by its status,
// Status3xx, Status4xx, Status5xx or StatusOther; it is WrongMarker when its
// status is right and its origin or content is not.
const (
	// OK is the answer that was asked for.
	OK Class = iota
	// Status3xx is a complete answer with such a status.
	Status3xx
	// Status4xx is a complete answer with such a status.
	Status4xx
	// Status5xx is a complete answer with such a status.
	Status5xx
	// StatusOther is a complete answer with another status that was not asked for.
	StatusOther
	// WrongMarker is an answer from another route, generation, backend, or
	// with another body: misrouted.
	WrongMarker
	// GRPCStatus is a complete gRPC answer with a status that is not OK.
	GRPCStatus
	// Malformed is an answer that breaks the protocol.
	Malformed
	// Refused is a connection that the other side refused.
	Refused
	// Reset is a connection that was reset before the answer was complete.
	Reset
	// EOF is a connection closed before the answer was complete.
	EOF
	// Timeout is no complete answer in time.
	Timeout
	// Unreachable is no way to the host or network.
	Unreachable
	// TLS is a failed handshake or a broken record.
	TLS
	// AddressExhausted is no local port left: the generator's own limit.
	AddressExhausted
	// Unsent is a request that was due and never sent: the generator's own limit.
	Unsent
	// DescriptorsExhausted is no descriptor or memory left for a socket: the
	// generator's own limit.
	DescriptorsExhausted
	// Other is everything else.
	Other
	// Classes is the number of classes.
	Classes = iota
)

var classNames = [Classes]string{
	OK: "ok", Status3xx: "status 3xx", Status4xx: "status 4xx", Status5xx: "status 5xx", StatusOther: "status other",
	WrongMarker: "wrong marker", GRPCStatus: "grpc status", Malformed: "malformed", Refused: "refused", Reset: "reset", EOF: "eof",
	Timeout: "timeout", Unreachable: "unreachable", TLS: "tls", AddressExhausted: "address exhausted",
	Unsent: "unsent", DescriptorsExhausted: "descriptors exhausted", Other: "other",
}

// String is the class's name in results.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// MarshalText writes the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the class's name.
func (c *Class) UnmarshalText(text []byte) error {
	for i, name := range classNames {
		if name == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("unknown error class %q", text)
}

// Ours reports whether the class says something about the generator and
// nothing about what it measures.
func (c Class) Ours() bool {
	return c == AddressExhausted || c == DescriptorsExhausted || c == Unsent || c == Other
}

// ClassOfStatus is the class of an answer with a status that was not asked for.
func ClassOfStatus(status int) Class {
	switch status / 100 {
	case 3:
		return Status3xx
	case 4:
		return Status4xx
	case 5:
		return Status5xx
	}
	return StatusOther
}

// ClassOfErrno is the class of a failed system call on a socket.
func ClassOfErrno(errno syscall.Errno) Class {
	switch errno {
	case syscall.ECONNREFUSED:
		return Refused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return Reset
	case syscall.ETIMEDOUT:
		return Timeout
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN:
		return Unreachable
	case syscall.EADDRNOTAVAIL:
		return AddressExhausted
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		return DescriptorsExhausted
	}
	return Other
}

// ClassOf is the class of an error from this package, net, or crypto/tls. It
// is OK for nil.
func ClassOf(err error) Class {
	var errno syscall.Errno
	var malformed *MalformedError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &malformed):
		return Malformed
	case errors.As(err, &errno):
		return ClassOfErrno(errno)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return EOF
	case isTLS(err):
		return TLS
	case isTimeout(err):
		return Timeout
	}
	return Other
}

// errTimeout is no complete answer in time.
var errTimeout = os.ErrDeadlineExceeded

func isTLS(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &certificate)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}
