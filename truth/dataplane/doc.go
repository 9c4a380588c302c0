// Package dataplane is a replica of truth's data plane: it takes snapshots,
// listens on the ports that they name, picks a listener and a rule for each
// request as the Gateway API says, and forwards with net/http's reverse proxy.
//
// What a replica serves is compiled once for each snapshot into a table, and a
// request works on one table from its beginning to its end.
package dataplane
