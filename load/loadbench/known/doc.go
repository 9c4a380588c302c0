// Package known is an HTTP/1.1 server of which the truth is known: it delays,
// trickles, fails and resets as it is told, and keeps a record of each request
// with the instant at which the kernel took it from the network, the instant at
// which the server read it, and the instant at which the answer's last byte was
// handed over.
//
// The kernel's instant counts when the server's process is stopped, for then
// requests arrive and nobody reads them.
//
// It is one event loop on one thread. It answers requests without a body, one
// at a time on each connection.
package known
