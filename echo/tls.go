package echo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// TLS is the port for requests over TLS.
type TLS struct {
	// Listen is its address. Empty for none.
	Listen string
	// Certificate and Key are files in PEM. Without them the server makes
	// itself a certificate when it starts.
	Certificate, Key string
	// ClientCA is a file in PEM with the authorities of client certificates.
	// With it clients may have one; with RequireClient they must.
	ClientCA      string
	RequireClient bool
}

// config returns nil where there is no such port.
func (t *TLS) config(pod string) (*tls.Config, error) {
	if t.Listen == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	var certificate tls.Certificate
	var err error
	if t.Certificate == "" && t.Key == "" {
		certificate, err = selfSigned(pod)
	} else {
		certificate, err = tls.LoadX509KeyPair(t.Certificate, t.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate for the port for TLS: %w", err)
	}
	c.Certificates = []tls.Certificate{certificate}
	switch {
	case t.ClientCA != "":
		if c.ClientCAs, err = authorities(t.ClientCA); err != nil {
			return nil, fmt.Errorf("authorities of clients: %w", err)
		}
		c.ClientAuth = tls.VerifyClientCertIfGiven
		if t.RequireClient {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
	case t.RequireClient:
		return nil, errors.New("client certificates are required, but no authorities are given")
	}
	return c, nil
}

func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

// selfSigned is good for ten years, for the pod's name and this machine's own.
func selfSigned(pod string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: pod},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
		DNSNames:    []string{pod, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// HandshakeCounts are TLS handshakes by their end.
type HandshakeCounts struct {
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// Resumed and WithClientCertificate are some of Done.
	Resumed               int64 `json:"resumed"`
	WithClientCertificate int64 `json:"withClientCertificate"`
}

type handshakes struct{ done, failed, resumed, withClient atomic.Int64 }

func (h *handshakes) counts() HandshakeCounts {
	return HandshakeCounts{h.done.Load(), h.failed.Load(), h.resumed.Load(), h.withClient.Load()}
}

// handshakeTime bounds a handshake.
const handshakeTime = 10 * time.Second

// secure does the handshake, where there is one to do, and returns whether
// both sides agreed on HTTP/2.
func (s *Server) secure(w *wire, config *tls.Config) (net.Conn, bool, error) {
	if config == nil {
		return w, false, nil
	}
	w.speaks(unknownTLS)
	set := s.faults.Load()
	if until := set.Stalled(time.Now()); !until.IsZero() {
		s.clock.Wait(until, set.Replaced())
	}
	conn := tls.Server(w, config)
	h := &s.counters.handshakes
	err := errors.Join(w.SetDeadline(time.Now().Add(handshakeTime)), conn.Handshake(), w.SetDeadline(time.Time{}))
	if err != nil {
		h.failed.Add(1)
		return nil, false, err
	}
	state := conn.ConnectionState()
	h.done.Add(1)
	if state.DidResume {
		h.resumed.Add(1)
	}
	if len(state.PeerCertificates) > 0 {
		h.withClient.Add(1)
	}
	w.speaks(http1TLS)
	return conn, state.NegotiatedProtocol == "h2", nil
}
