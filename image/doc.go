// Package image makes OCI images without Docker and without an image
// registry: from our own executable, from a Go module at a version or in a
// checkout, and from a PyPI wheel.
//
// A Recipe says what is in an image; a Builder makes it, once, and keeps it
// in a cache under a key of everything that went in. Where an image registry
// answers, the official image can be fetched instead. Either way the result
// says which it was, by digest.
//
// An image is one uncompressed layer on an empty base. Its bytes depend on
// nothing but its contents: times are fixed and entries sorted, so equal
// inputs have equal digests.
package image
