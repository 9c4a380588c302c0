package echo

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writePair writes a certificate and its key into files.
func writePair(t *testing.T, name string) (certificate, key string, pair tls.Certificate) {
	t.Helper()
	pair, err := selfSigned(name)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(pair.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, data []byte) string {
		file = filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "EC PRIVATE KEY", der), pair
}

func secureClient(t *testing.T, config *tls.Config, http2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestTLS(t *testing.T) {
	certificate, key, pair := writePair(t, "echo.example")
	s, stop := serve(t, Options{TLS: TLS{Listen: "127.0.0.1:0", Certificate: certificate, Key: key}})
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	url := "https://" + s.TLSAddress().String()
	for _, c := range []struct {
		http2 bool
		want  string
	}{{false, "HTTP/1.1"}, {true, "HTTP/2.0"}} {
		client := secureClient(t, &tls.Config{RootCAs: pool, ServerName: "echo.example"}, c.http2)
		for range 3 {
			r, body, err := fetch(client, url+"/?size=9")
			if err != nil || r.Proto != c.want || len(body) != 9 || r.TLS.PeerCertificates[0].SerialNumber.Cmp(leaf.SerialNumber) != 0 {
				t.Errorf("%v, %d bytes, %v", r, len(body), err)
			}
		}
		client.CloseIdleConnections()
	}
	// Somebody who does not trust the certificate.
	if _, _, err := fetch(secureClient(t, &tls.Config{}, false), url); err == nil {
		t.Error("a stranger's certificate is trusted")
	}
	eventually(t, "all connections end", func() bool { return s.Counters().Open == 0 })
	got := s.Counters()
	if diff := cmp.Diff(HandshakeCounts{Done: 2, Failed: 1}, got.TLS); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var names []string
	for _, p := range got.Protocols {
		names = append(names, p.Protocol)
	}
	if diff := cmp.Diff([]string{"http/1.1+tls", "h2", "tls"}, names); diff != "" || got.Requests != 6 {
		t.Errorf("%d requests, protocols (-want +got):\n%s", got.Requests, diff)
	}
	stop()
}

func TestTLSWithCertificateOfItsOwnAndResumption(t *testing.T) {
	s, _ := serve(t, Options{TLS: TLS{Listen: "127.0.0.1:0"}})
	config := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for range 3 {
		conn, err := tls.Dial("tcp", s.TLSAddress().String(), config)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _, err := askOn(conn, "/"); status != 200 || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
		conn.Close()
	}
	if diff := cmp.Diff(HandshakeCounts{Done: 3, Resumed: 2}, s.Counters().TLS); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClientCertificates(t *testing.T) {
	authority, _, pair := writePair(t, "client")
	for _, required := range []bool{false, true} {
		s, stop := serve(t, Options{TLS: TLS{Listen: "127.0.0.1:0", ClientCA: authority, RequireClient: required}})
		with := secureClient(t, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}}, true)
		without := secureClient(t, &tls.Config{InsecureSkipVerify: true}, true)
		if _, _, err := fetch(with, "https://"+s.TLSAddress().String()); err != nil {
			t.Errorf("with a certificate: %v", err)
		}
		if _, _, err := fetch(without, "https://"+s.TLSAddress().String()); (err != nil) != required {
			t.Errorf("required %v, without one: %v", required, err)
		}
		if got := s.Counters().TLS.WithClientCertificate; got != 1 {
			t.Errorf("%d with a certificate", got)
		}
		with.CloseIdleConnections()
		without.CloseIdleConnections()
		stop()
	}
}

func TestTLSRefuses(t *testing.T) {
	for _, bad := range []TLS{
		{Listen: "127.0.0.1:0", Certificate: "none.pem"},
		{Listen: "127.0.0.1:0", ClientCA: "none.pem"},
		{Listen: "127.0.0.1:0", ClientCA: "tls_test.go"},
		{Listen: "127.0.0.1:0", RequireClient: true},
		{Listen: "127.0.0.1:x"},
	} {
		if s, err := Listen(Options{Listen: "127.0.0.1:0", TLS: bad}); err == nil {
			t.Errorf("%+v: listens on %v", bad, s.TLSAddress())
		}
	}
}

func TestResetOnTLS(t *testing.T) {
	s, _ := serve(t, Options{TLS: TLS{Listen: "127.0.0.1:0"}, Faults: faults(t, `{"rules":[{"reset":{}}]}`)})
	conn, err := tls.Dial("tcp", s.TLSAddress().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, _, _, err := askOn(conn, "/"); err == nil || !isReset(err) {
		t.Errorf("%v, want a reset", err)
	}
}
