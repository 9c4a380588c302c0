package load

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
)

func TestClassOf(t *testing.T) {
	wrapped := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}
	}
	cases := []struct {
		err  error
		want Class
	}{
		{nil, OK},
		{wrapped(syscall.ECONNREFUSED), Refused},
		{wrapped(syscall.ECONNRESET), Reset},
		{wrapped(syscall.EPIPE), Reset},
		{wrapped(syscall.ETIMEDOUT), Timeout},
		{wrapped(syscall.EHOSTUNREACH), Unreachable},
		{wrapped(syscall.EADDRNOTAVAIL), AddressExhausted},
		{wrapped(syscall.EMFILE), DescriptorsExhausted},
		{io.EOF, EOF},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), EOF},
		{os.ErrDeadlineExceeded, Timeout},
		{context.DeadlineExceeded, Timeout},
		{tls.AlertError(40), TLS},
		{fmt.Errorf("parse: %w", errStatusLine), Malformed},
		{errors.New("something new"), Other},
	}
	for _, c := range cases {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}

// Real errors, not ones made to fit.
func TestClassOfRealErrors(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	closed := plain.Listener.Addr().String()

	_, err := tls.Dial("tcp", closed, nil)
	if got := ClassOf(err); got != TLS {
		t.Errorf("handshake with a plain server: %v: got %v", err, got)
	}
	_, err = tls.Dial("tcp", secure.Listener.Addr().String(), nil)
	if got := ClassOf(err); got != TLS {
		t.Errorf("unknown authority: %v: got %v", err, got)
	}
	plain.Close()
	_, err = net.Dial("tcp", closed)
	if got := ClassOf(err); got != Refused {
		t.Errorf("closed port: %v: got %v", err, got)
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := Class(0); c < Classes; c++ {
		name := c.String()
		if name == "" || seen[name] {
			t.Errorf("class %d has the name %q, empty or used before", c, name)
		}
		seen[name] = true
		data, err := json.Marshal(map[Class]int{c: 1})
		if err != nil {
			t.Fatal(err)
		}
		var back map[Class]int
		if err := json.Unmarshal(data, &back); err != nil || back[c] != 1 {
			t.Errorf("%s reads back as %v, %v", data, back, err)
		}
	}
	var c Class
	if err := c.UnmarshalText([]byte("nonsense")); err == nil {
		t.Error("an unknown class was read")
	}
}

func TestClassOfStatus(t *testing.T) {
	for status, want := range map[int]Class{301: Status3xx, 404: Status4xx, 429: Status4xx, 503: Status5xx, 200: StatusOther, 101: StatusOther} {
		if got := ClassOfStatus(status); got != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
}
