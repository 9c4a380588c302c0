package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"testing"
	"time"
)

func parseAddrs(t *testing.T, texts ...string) (out []netip.Addr) {
	for _, s := range texts {
		a, err := netip.ParseAddr(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// selfSigned makes a certificate for gatemark.test, and its PEM.
func selfSigned(t *testing.T) (pair tls.Certificate, cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gatemark.test"}, DNSNames: []string{"gatemark.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	return pair, cert, key
}

func TestTLS(t *testing.T) {
	pair, cert, key := selfSigned(t)
	engines(t, func(t *testing.T, engine Engine) {
		for _, version := range []string{"1.2", "1.3"} {
			t.Run(version, func(t *testing.T) {
				pool := x509.NewCertPool()
				pool.AppendCertsFromPEM(cert)
				s := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, func(_ int, w *scripted) {
					state := w.conn.(*tls.Conn).ConnectionState()
					if state.Version != tlsVersions[version] || state.ServerName != "gatemark.test" || len(state.PeerCertificates) != 1 {
						w.answer(500, "")
						return
					}
					w.answer(200, string(make([]byte, 40_000)))
				})
				r := attackOn(t, engine, s.secureURL(), func(o *Options) {
					o.Requests, o.Targets[0].Host, o.Targets[0].Expect.Body = 200, "gatemark.test", 40_000
					o.TLS = TLSOptions{CA: cert, Certificate: cert, Key: key, Version: version}
				})
				if r.Requests != 200 || len(r.Errors) > 0 || r.Handshake.Count != 4 || s.accepted.Load() != 4 {
					t.Errorf("%d requests, errors %v, handshakes %+v, %d connections", r.Requests, r.Errors, r.Handshake, s.accepted.Load())
				}
			})
		}
	})
}

// TestRecordedCertificates: a record tells which certificate its connection was
// opened with.
func TestRecordedCertificates(t *testing.T) {
	pair, _, _ := selfSigned(t) // number 1
	engines(t, func(t *testing.T, engine Engine) {
		s := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}}, ok)
		to := &recorder{make(chan []Record, 1000)}
		attackOn(t, engine, s.secureURL(), func(o *Options) {
			o.Requests, o.Fresh, o.TLS, o.Records = 20, 0.5, TLSOptions{Insecure: true}, to
		})
		close(to.all)
		n := 0
		for batch := range to.all {
			for _, r := range batch {
				if n++; r.Certificate != "1" {
					t.Errorf("record %+v", r)
				}
			}
		}
		if n != 20 {
			t.Errorf("%d records", n)
		}
	})
}

func TestTLSResumption(t *testing.T) {
	pair, _, _ := selfSigned(t)
	engines(t, func(t *testing.T, engine Engine) {
		for _, resume := range []bool{false, true} {
			s := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}}, ok)
			r := attackOn(t, engine, s.secureURL(), func(o *Options) {
				o.Requests, o.Fresh, o.TLS = 100, 1, TLSOptions{Insecure: true, Resume: resume}
			})
			// Connections that are open before the first answer cannot resume.
			if len(r.Errors) > 0 || resume && r.Resumed < 80 || !resume && r.Resumed > 0 {
				t.Errorf("resume %v: errors %v, %d of %d resumed", resume, r.Errors, r.Resumed, r.Opened)
			}
		}
	})
}

func TestTLSFailures(t *testing.T) {
	pair, _, _ := selfSigned(t)
	engines(t, func(t *testing.T, engine Engine) {
		secure := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}}, ok)
		r := attackOn(t, engine, secure.secureURL(), func(o *Options) { o.Rate = Steady(1000, 50*time.Millisecond) })
		if r.Errors[TLS] != 50 {
			t.Errorf("unknown authority: errors %v", r.Errors)
		}
		plain := serve(t, nil, ok)
		r = attackOn(t, engine, plain.secureURL(), func(o *Options) { o.Rate = Steady(1000, 50*time.Millisecond) })
		if n := r.Errors[TLS] + r.Errors[EOF] + r.Errors[Reset]; n != 50 {
			t.Errorf("a server without TLS: errors %v", r.Errors)
		}
		broken := serve(t, &tls.Config{Certificates: []tls.Certificate{pair}}, func(n int, w *scripted) {
			if n%10 == 9 {
				w.reset()
				return
			}
			w.answer(200, "")
		})
		r = attackOn(t, engine, broken.secureURL(), func(o *Options) { o.Rate, o.TLS.Insecure = Steady(1000, 100*time.Millisecond), true })
		if r.Errors[Reset] != 10 || len(r.Errors) != 1 {
			t.Errorf("resets: errors %v", r.Errors)
		}
	})
}
