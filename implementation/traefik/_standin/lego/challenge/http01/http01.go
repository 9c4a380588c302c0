// Package http01 would show it over HTTP.
package http01

import "time"

// PathPrefix is where RFC 8555, section 8.3, has the authority look.
const PathPrefix = "/.well-known/acme-challenge/"

// A ChallengeOption changes nothing.
type ChallengeOption struct{}

// SetDelay changes nothing.
func SetDelay(time.Duration) ChallengeOption { return ChallengeOption{} }
