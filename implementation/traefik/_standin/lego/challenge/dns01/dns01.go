// Package dns01 would show it in DNS.
package dns01

import (
	"strings"
	"time"
)

// A Client would ask name servers.
type Client struct{}

// Options say which.
type Options struct{ RecursiveNameservers []string }

// NewClient returns a client that asks nobody.
func NewClient(*Options) *Client { return &Client{} }

// SetDefaultClient does nothing.
func SetDefaultClient(*Client) {}

// A ChallengeOption changes nothing.
type ChallengeOption struct{}

// CondOptions changes nothing.
func CondOptions(bool, ...ChallengeOption) ChallengeOption { return ChallengeOption{} }

// DisableAuthoritativeNssPropagationRequirement changes nothing.
func DisableAuthoritativeNssPropagationRequirement() ChallengeOption { return ChallengeOption{} }

// DisableRecursiveNSsPropagationRequirement changes nothing.
func DisableRecursiveNSsPropagationRequirement() ChallengeOption { return ChallengeOption{} }

// PropagationWait changes nothing.
func PropagationWait(time.Duration, bool) ChallengeOption { return ChallengeOption{} }

// UnFqdn takes the dot off a name's end. Traefik compares names of
// certificates with it.
func UnFqdn(name string) string { return strings.TrimSuffix(name, ".") }
