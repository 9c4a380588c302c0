// Package tlsalpn01 would show it in a TLS handshake.
package tlsalpn01

import (
	"time"

	"github.com/go-acme/lego/v5/certificate"
)

// ACMETLS1Protocol is the protocol that RFC 8737 has the authority ask for.
const ACMETLS1Protocol = "acme-tls/1"

// A ChallengeOption changes nothing.
type ChallengeOption struct{}

// SetDelay changes nothing.
func SetDelay(time.Duration) ChallengeOption { return ChallengeOption{} }

// ChallengeBlocks fails.
func ChallengeBlocks(_, _ string) (certificatePEM, keyPEM []byte, err error) {
	return nil, nil, certificate.ErrLeftOut
}
