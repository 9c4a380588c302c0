// Package challenge is how a certificate authority is shown who owns a name.
package challenge

import "context"

// A Provider presents what the authority wants to see.
type Provider interface {
	Present(ctx context.Context, domain, token, keyAuth string) error
	CleanUp(ctx context.Context, domain, token, keyAuth string) error
}
