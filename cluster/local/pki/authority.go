// Package pki makes a cluster's certificates, keys and kubeconfigs.
//
// All keys are ECDSA P-256: they are made in well under a millisecond, and
// are what kubeadm recommends where RSA is not asked for.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// validity is how long a certificate holds. Clusters are short-lived; a
// backdated start forgives a clock that steps.
const (
	validity = 365 * 24 * time.Hour
	backdate = time.Hour
)

// An Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// A Pair is a certificate and its key, in PEM.
type Pair struct {
	Cert []byte
	Key  []byte
}

// A Subject is whom a certificate is for.
type Subject struct {
	// Name is the user, Groups are the user's groups, in Kubernetes' terms.
	Name   string
	Groups []string
	// Hosts are the names and addresses of a server. A subject without any
	// is a client only.
	Hosts []string
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making authority %s: %w", name, err)
	}
	return &Authority{cert, key}, nil
}

// CertPEM returns the authority's own certificate.
func (a *Authority) CertPEM() []byte { return certPEM(a.cert.Raw) }

// KeyPEM returns the authority's key.
func (a *Authority) KeyPEM() ([]byte, error) { return keyPEM(a.key) }

// Issue signs a certificate for the subject.
func (a *Authority) Issue(s Subject) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	template, err := newTemplate(pkix.Name{CommonName: s.Name, Organization: s.Groups})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range s.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("making the certificate of %s: %w", s.Name, err)
	}
	text, err := keyPEM(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: certPEM(der), Key: text}, nil
}

// NewKeyPair makes a bare key pair, as service account tokens are signed
// with: the public half in Cert.
func NewKeyPair() (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	private, err := keyPEM(key)
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("encoding a public key: %w", err)
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), Key: private}, nil
}

// Write writes the pair into two files, the key readable by its owner only.
func (p Pair) Write(certFile, keyFile string) error {
	if err := os.WriteFile(certFile, p.Cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(keyFile, p.Key, 0o600)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validity),
	}, nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
