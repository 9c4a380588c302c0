package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// TLSOptions say how connections are secured.
type TLSOptions struct {
	// Insecure takes any certificate.
	Insecure bool `json:"insecure,omitempty"`
	// CA is a bundle of certificates in PEM that sign the servers'. Default is
	// the system's.
	CA []byte `json:"ca,omitempty"`
	// Certificate and Key are the client's, in PEM.
	Certificate []byte `json:"certificate,omitempty"`
	Key         []byte `json:"key,omitempty"`
	// ServerName takes the place of the target's host.
	ServerName string `json:"serverName,omitempty"`
	// Version is "1.2" or "1.3" for that alone. Default is either.
	Version string `json:"version,omitempty"`
	// Resume lets connections resume the session of one before.
	Resume bool `json:"resume,omitempty"`
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// alpn is what each protocol is called in the handshake.
var alpn = map[Protocol][]string{HTTP1: {"http/1.1"}, WebSocket: {"http/1.1"}, HTTP2: {"h2"}, GRPC: {"h2"}}

// config returns the configuration for all connections; server names are still
// to be set.
func (t *TLSOptions) config(p Protocol) (*tls.Config, error) {
	var problems []error
	c := &tls.Config{InsecureSkipVerify: t.Insecure, NextProtos: alpn[p]}
	if t.Version != "" {
		version := tlsVersions[t.Version]
		if version == 0 {
			problems = append(problems, fmt.Errorf("TLS version %q: want 1.2 or 1.3", t.Version))
		}
		c.MinVersion, c.MaxVersion = version, version
	}
	if len(t.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CA) {
			problems = append(problems, errors.New("TLS certificate authority: no certificate in PEM"))
		}
	}
	if len(t.Certificate)+len(t.Key) > 0 {
		pair, err := tls.X509KeyPair(t.Certificate, t.Key)
		if err != nil {
			problems = append(problems, fmt.Errorf("TLS client certificate: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(problems...)
}

// forEndpoint returns the configuration of one loop's connections to one
// endpoint. Sessions are kept per loop and endpoint: they resume only there.
func (t *TLSOptions) forEndpoint(base *tls.Config, e *endpoint) *tls.Config {
	if !e.secure {
		return nil
	}
	c := base.Clone()
	c.ServerName = e.serverName
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if t.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	}
	return c
}
