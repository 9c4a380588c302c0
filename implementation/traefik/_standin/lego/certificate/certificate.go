// Package certificate would ask for certificates.
package certificate

import (
	"context"
	"errors"

	"github.com/go-acme/lego/v5/certcrypto"
)

// ErrLeftOut is the answer to everything.
var ErrLeftOut = errors.New("ACME is left out of this build of Traefik")

// A Resource is a certificate with its key.
type Resource struct {
	ID          string
	Domains     []string
	PrivateKey  []byte
	Certificate []byte
}

// An ObtainRequest is for a new one.
type ObtainRequest struct {
	Domains          []string
	EmailAddresses   []string
	Bundle           bool
	EnableCommonName bool
	Profile          string
	PreferredChain   string
	KeyType          certcrypto.KeyType
}

// RenewOptions are for one that ends.
type RenewOptions struct {
	EmailAddresses   []string
	Bundle           bool
	EnableCommonName bool
	Profile          string
	PreferredChain   string
}

// A Certifier obtains nothing.
type Certifier struct{}

// Obtain fails.
func (*Certifier) Obtain(context.Context, ObtainRequest) (*Resource, error) { return nil, ErrLeftOut }

// Renew fails.
func (*Certifier) Renew(context.Context, Resource, *RenewOptions) (*Resource, error) {
	return nil, ErrLeftOut
}
