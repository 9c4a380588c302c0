package dataplane

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// served runs a server until the test ends.
func served(t *testing.T, server *http.Server) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if server.TLSConfig != nil {
		l = tls.NewListener(l, server.TLSConfig)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return netip.MustParseAddrPort(l.Addr().String())
}

// backendOfTLS answers over TLS with a name and the path.
func backendOfTLS(t *testing.T, name string) config.Backend {
	t.Helper()
	c := certificate(t, name)
	pair, err := tls.X509KeyPair(c.Chain, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return config.Backend{Endpoints: []netip.AddrPort{served(t, &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", name, r.URL.Path) }),
	})}}
}

// through asks over TLS for a name, and returns the answer and whose
// certificate was shown.
func (b *bench) through(name string) (answer, shown string, err error) {
	open, err := net.Dial("tcp", netip.AddrPortFrom(b.address, uint16(config.ServingPort(443))).String())
	if err != nil {
		return "", "", err
	}
	defer open.Close()
	open.SetDeadline(time.Now().Add(5 * time.Second))
	secure := tls.Client(open, &tls.Config{ServerName: name, InsecureSkipVerify: true}) // looked at below
	if err := secure.Handshake(); err != nil {
		return "", "", err
	}
	fmt.Fprintf(secure, "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", name)
	response, err := http.ReadResponse(bufio.NewReader(secure), nil)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), secure.ConnectionState().PeerCertificates[0].DNSNames[0], err
}

func TestPassthrough(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"one": backendOfTLS(t, "one"), "two": backendOfTLS(t, "two"), "none": {}}
	b.publish(backends, config.Listener{Name: "tls", Port: 443, Passthrough: true, Hostname: "*.test", Rules: []config.Rule{
		{Route: "TLSRoute/n/one", Hostnames: []string{"*.test"}, Backends: to("one")},
		{Route: "TLSRoute/n/two", Hostnames: []string{"b.test"}, Backends: to("two")},
		{Route: "TLSRoute/n/none", Hostnames: []string{"c.test"}, Backends: to("none")},
		{Route: "TLSRoute/n/lost", Hostnames: []string{"d.test"}, Backends: to("unresolved")},
	}})
	for name, want := range map[string]string{"a.test": "one", "b.test": "two"} {
		if answer, shown, err := b.through(name); answer != want+" /x" || shown != want || err != nil {
			t.Errorf("%s: %q with the certificate of %q, %v", name, answer, shown, err)
		}
	}
	for _, name := range []string{"c.test", "d.test", "other"} {
		if answer, _, err := b.through(name); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
	}
}

func TestFaultsOfPassthrough(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"one": backendOfTLS(t, "one"), "two": backendOfTLS(t, "two")}
	listener := func(generation int64) config.Listener {
		return config.Listener{Name: "tls", Port: 443, Passthrough: true, Rules: []config.Rule{
			{Route: "TLSRoute/n/one", Generation: generation, Hostnames: []string{"a"}, Backends: to("one")},
			{Route: "TLSRoute/n/two", Generation: generation, Hostnames: []string{"b"}, Backends: to("two")},
		}}
	}
	b.publish(backends, listener(1))
	for name, f := range map[string]fault.Faults{
		"errorEvery": {ErrorEvery: 1}, "dropEvery": {DropEvery: 1}, "errorsOnChange": {ErrorsOnChange: time.Hour},
	} {
		b.faults.Set(f)
		if answer, _, err := b.through("a"); err == nil || b.replica.Injected()[name] != 1 {
			t.Errorf("with %s: %q, %v, injected %v", name, answer, err, b.replica.Injected())
		}
	}
	b.faults.Set(fault.Faults{Misroute: 1})
	if answer, _, err := b.through("a"); answer != "two /x" || err != nil {
		t.Errorf("with misroute: %q, %v", answer, err)
	}
	b.faults.Set(fault.Faults{})
	if answer, _, err := b.through("a"); answer != "one /x" || err != nil {
		t.Errorf("without faults: %q, %v", answer, err)
	}
}

func TestWhatIsPassedThroughEndsWithItsPort(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"one": backendOfTLS(t, "one")}
	b.publish(backends, config.Listener{Name: "tls", Port: 443, Passthrough: true, Rules: []config.Rule{{Route: "TLSRoute/n/one", Backends: to("one")}}})
	open, err := tls.Dial("tcp", netip.AddrPortFrom(b.address, uint16(config.ServingPort(443))).String(), &tls.Config{ServerName: "a", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	b.publish(backends)
	open.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, _, err := b.through("a"); err == nil {
		t.Error("the port is still open")
	}
}

func TestPeekOfWhatIsNoTLS(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		io.WriteString(theirs, "GET / HTTP/1.1\r\n\r\n")
		theirs.Close()
	}()
	if name, hello, err := peek(ours); err == nil {
		t.Errorf("it asks for %q: %q", name, hello)
	}
}
