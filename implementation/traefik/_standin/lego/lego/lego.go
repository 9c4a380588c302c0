// Package lego stands in for github.com/go-acme/lego/v5, whose providers of
// DNS drag in modules that the Go module proxy does not serve. Certificates
// cannot be obtained by ACME; those in Secrets are served as ever.
package lego

import (
	"crypto/x509"
	"net/http"
	"time"

	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge"
	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/challenge/http01"
	"github.com/go-acme/lego/v5/challenge/tlsalpn01"
	"github.com/go-acme/lego/v5/registration"
)

// DirectoryURLLetsEncrypt is the default in Traefik's configuration.
const DirectoryURLLetsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

// A Config would lead to a client.
type Config struct {
	CADirURL    string
	UserAgent   string
	HTTPClient  *http.Client
	Certificate CertificateConfig
}

// A CertificateConfig is about how long to wait.
type CertificateConfig struct{ Timeout time.Duration }

// NewConfig returns an empty one.
func NewConfig(any) *Config { return &Config{} }

// A Client can do nothing.
type Client struct {
	Certificate  *certificate.Certifier
	Challenge    *Challenges
	Registration *registration.Registrar
}

// NewClient fails.
func NewClient(*Config) (*Client, error) { return nil, certificate.ErrLeftOut }

// CreateCertPool fails.
func CreateCertPool([]string, bool) (*x509.CertPool, error) { return nil, certificate.ErrLeftOut }

// Challenges takes no provider.
type Challenges struct{}

// SetDNS01Provider fails.
func (*Challenges) SetDNS01Provider(challenge.Provider, ...dns01.ChallengeOption) error {
	return certificate.ErrLeftOut
}

// SetHTTP01Provider fails.
func (*Challenges) SetHTTP01Provider(challenge.Provider, ...http01.ChallengeOption) error {
	return certificate.ErrLeftOut
}

// SetTLSALPN01Provider fails.
func (*Challenges) SetTLSALPN01Provider(challenge.Provider, ...tlsalpn01.ChallengeOption) error {
	return certificate.ErrLeftOut
}
