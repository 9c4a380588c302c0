// Package stage is where load generators are compared: threads that stand in
// network namespaces of their own and on one core each, the programs that they
// start, the CPU time that these and the whole machine use, and the server.
//
// A namespace has no name and is held by its threads and processes only. So
// nothing is left of it when this program ends, however it ends.
package stage
