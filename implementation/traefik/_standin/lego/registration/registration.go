// Package registration would register with a certificate authority.
package registration

import (
	"context"

	"github.com/go-acme/lego/v5/acme"
	"github.com/go-acme/lego/v5/certificate"
)

// RegisterOptions are for an account.
type RegisterOptions struct{ TermsOfServiceAgreed bool }

// RegisterEABOptions are for an account that is bound to another one.
type RegisterEABOptions struct {
	TermsOfServiceAgreed bool
	Kid                  string
	HmacEncoded          string
}

// A Registrar registers nobody.
type Registrar struct{}

// Register fails.
func (*Registrar) Register(context.Context, RegisterOptions) (*acme.ExtendedAccount, error) {
	return nil, certificate.ErrLeftOut
}

// RegisterWithExternalAccountBinding fails.
func (*Registrar) RegisterWithExternalAccountBinding(context.Context, RegisterEABOptions) (*acme.ExtendedAccount, error) {
	return nil, certificate.ErrLeftOut
}
