package scenario

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatemark/gatemark/kube"
)

// A KeyPair is a certificate and its key in PEM, as a Secret has them, and the
// certificate's serial number.
type KeyPair struct{ Certificate, Key, Serial string }

// NewKeyPair makes a self-signed certificate. Its serial number is written as
// load.Record has it.
func NewKeyPair(host string) (KeyPair, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make a key: %w", err)
	}
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return KeyPair{}, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return KeyPair{}, fmt.Errorf("make a certificate: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode a key: %w", err)
	}
	text := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return KeyPair{text("CERTIFICATE", der), text("PRIVATE KEY", raw), number.Text(16)}, nil
}

// Secret is a key pair as one of the trial's objects. The runner may create and
// update it, and not patch it: the answer would show what it held.
func (t *Trial) Secret(name string, pair KeyPair) *corev1.Secret {
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		corev1.TLSCertKey: []byte(pair.Certificate), corev1.TLSPrivateKeyKey: []byte(pair.Key),
	}}
	secret.Namespace, secret.Name = t.Namespace, name
	kube.Own(secret, t.RunID, t.Result.ID)
	return secret
}
