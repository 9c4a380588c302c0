// Package auth stands in for Traefik's fork of github.com/abbot/go-http-auth,
// which the Go module proxy does not serve. It refuses everybody: a route
// that asks for basic or digest authentication answers 401 to all.
package auth

import "net/http"

// A BasicAuth refuses everybody.
type BasicAuth struct {
	Realm   string
	Secrets func(user, realm string) string
}

// RequireAuth answers 401.
func (*BasicAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) { refuse(w) }

// CheckSecret accepts no password.
func CheckSecret(_, _ string) bool { return false }

// A DigestAuth refuses everybody.
type DigestAuth struct{}

// NewDigestAuthenticator returns one that refuses everybody.
func NewDigestAuthenticator(string, func(user, realm string) string) *DigestAuth {
	return &DigestAuth{}
}

// CheckAuth knows no user.
func (*DigestAuth) CheckAuth(*http.Request) (user string, info *string) { return "", nil }

// RequireAuth answers 401.
func (*DigestAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) { refuse(w) }

// RequireAuthStale answers 401.
func (*DigestAuth) RequireAuthStale(w http.ResponseWriter, _ *http.Request) { refuse(w) }

// DigestAuthParams reads nothing.
func DigestAuthParams(string) map[string]string { return nil }

func refuse(w http.ResponseWriter) {
	http.Error(w, "authentication is left out of this build", http.StatusUnauthorized)
}
