// Package load holds what a load generator is made of: response parsing,
// error classes and send schedules. It knows no Kubernetes, uses no cgo, and
// can be used as a library.
//
// Two rules run through it. Schedules are absolute: when a request should be
// sent follows from how many were due before it, never from when the last
// answer came, so a stall of the server cannot hide the requests that it
// delays. And every request ends in exactly one class of a closed set, counted
// as an integer.
package load
