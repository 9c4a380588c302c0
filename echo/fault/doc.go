// Package fault decides what goes wrong with a request, on purpose. It knows
// no network: Compile turns a description, which is JSON, into an immutable
// Set, a server asks the Set about each request, and does what the Verdict
// says. Everything that a Set decides is counted when it is decided, so that
// what a client saw can be held against it exactly.
package fault
