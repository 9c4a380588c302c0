package dataplane

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// certificate is one for names.
func certificate(t *testing.T, names ...string) config.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotAfter: time.Now().Add(time.Hour)}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return config.Certificate{
		Chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain}),
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// secure asks over TLS for a host on a connection to a server name.
func (b *bench) secure(name, host string) (status int, proto string, served []string, err error) {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{ServerName: name, InsecureSkipVerify: true}, // looked at below
		ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(b.t.Context(), "GET", b.url("https", 443, "/"), nil)
	if err != nil {
		return 0, "", nil, err
	}
	r.Host = host
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	return response.StatusCode, response.Proto, response.TLS.PeerCertificates[0].DNSNames, nil
}

func TestTLS(t *testing.T) {
	b := start(t)
	backends := map[string]config.Backend{"a": backendOf(t, says("a"))}
	rule := config.Rule{Route: "n/a", Backends: to("a")}
	b.publish(backends,
		config.Listener{Name: "exact", Port: 443, TLS: true, Hostname: "a.test", Rules: []config.Rule{rule},
			Certificates: []config.Certificate{certificate(t, "*.test"), certificate(t, "a.test")}},
		config.Listener{Name: "wildcard", Port: 443, TLS: true, Hostname: "*.test", Rules: []config.Rule{rule},
			Certificates: []config.Certificate{certificate(t, "*.test")}},
	)
	for _, c := range []struct {
		name, host  string
		status      int
		certificate string
	}{
		{"a.test", "a.test", 200, "a.test"},
		{"b.test", "b.test", 200, "*.test"},
		{"b.test", "a.test", 421, "*.test"},
		{"a.test", "b.test", 421, "a.test"},
		{"a.test", "a.other", 404, "a.test"},
	} {
		status, proto, names, err := b.secure(c.name, c.host)
		if err != nil || status != c.status || names[0] != c.certificate || proto != "HTTP/2.0" {
			t.Errorf("%s asked for %s: %d %s %v %v, want %d from %s", c.name, c.host, status, proto, names, err, c.status, c.certificate)
		}
	}
	if status, _, _, err := b.secure("a.other", "a.other"); err == nil {
		t.Errorf("a name that no listener has: status %d", status)
	}
}

func TestACertificateIsReplaced(t *testing.T) {
	b := start(t)
	for _, name := range []string{"one.test", "two.test"} {
		b.publish(nil, config.Listener{Name: "https", Port: 443, TLS: true, Certificates: []config.Certificate{certificate(t, name)}})
		if _, _, names, err := b.secure("x.test", "x.test"); err != nil || names[0] != name {
			t.Errorf("got %v, %v, want %s", names, err, name)
		}
	}
}

// TestWebSocket speaks the handshake itself: what follows it is not looked at
// by the replica.
func TestWebSocket(t *testing.T) {
	b := start(t)
	backend := backendOf(t, func(w http.ResponseWriter, r *http.Request) {
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		io.Copy(c, buffered)
	})
	b.publish(map[string]config.Backend{"a": backend}, plain(config.Rule{Route: "n/a", Backends: to("a")}))
	c, err := net.Dial("tcp", netip.AddrPortFrom(b.address, uint16(config.ServingPort(80))).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	in := bufio.NewReader(c)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != 101 || !strings.EqualFold(response.Header.Get("Upgrade"), "websocket") {
		t.Fatalf("%v, %v", response, err)
	}
	for _, text := range []string{"one\n", "two\n"} {
		fmt.Fprint(c, text)
		if got, err := in.ReadString('\n'); err != nil || got != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
		b.publish(map[string]config.Backend{"a": backend}, plain(config.Rule{Route: "n/a", Generation: b.version, Backends: to("a")}))
	}
	b.faults.Set(fault.Faults{DropsKeptOnChange: true})
	b.publish(map[string]config.Backend{"a": backend}, plain())
	if got, err := in.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("after a change that drops connections: %q, %v", got, err)
	}
}
