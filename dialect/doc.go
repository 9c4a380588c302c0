// Package dialect holds the APIs in which a data plane can be told its routes:
// the Gateway API, and as data those that other products speak, or spoke when
// earlier benchmarks were made. A scenario that needs no more than a Route is
// the same in all of them. Policies against backends that fail, for which there
// is no common API, are data as well.
package dialect
