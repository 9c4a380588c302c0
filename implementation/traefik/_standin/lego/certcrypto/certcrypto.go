// Package certcrypto names kinds of keys.
package certcrypto

// A KeyType is one of them.
type KeyType string

// The kinds that Traefik can be asked for.
const (
	EC256   KeyType = "EC256"
	EC384   KeyType = "EC384"
	RSA2048 KeyType = "RSA2048"
	RSA4096 KeyType = "RSA4096"
	RSA8192 KeyType = "RSA8192"
)
