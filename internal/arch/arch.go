// Package arch holds one test: who may import whom. Data flows from plan to
// report through the folders in the order of docs/layout.md, and what must
// stay light stays free of what is heavy.
package arch
