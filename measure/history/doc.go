// Package history records every version of the objects of one kind, each with
// the instant at which it arrived.
//
// It lists once and then reads the API server's watch stream itself, resumed
// by resource version, because caches and informers coalesce: they answer
// what an object is, and a measurement asks what it was, when. A version that
// may have been missed is a Loss, and a trial with a loss is no evidence.
//
// Each watch has a TCP connection of its own, without multiplexing, so that a
// busy kind delays neither another kind nor the writes of the scenario. One
// goroutine reads and stamps, another decodes and calls back: a slow callback
// moves no instant. An instant is that of the read which brought an event's
// last byte.
package history
