// Package ext stands in for a module inside Traefik's own repository, which
// the Go module proxy does not serve. It is where other editions of Traefik
// add fields to the configuration.
package ext

// HTTP adds nothing.
type HTTP struct{}

// Router adds nothing.
type Router struct{}
