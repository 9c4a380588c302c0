// Package dns would know the providers of DNS.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/certificate"
	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName fails.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("provider %s: %w", name, certificate.ErrLeftOut)
}
