// Package acme is an account with a certificate authority, as far as Traefik
// names it.
package acme

// An Account is what would be stored of one.
type Account struct {
	Status string `json:"status,omitempty"`
}

// An ExtendedAccount is an account and its address.
type ExtendedAccount struct {
	Account

	Location string `json:"-"`
}
