// Package audit answers who wrote which status, and whether it was theirs to
// write: status writes by writer, kind and time, conflicts and writes that
// changed nothing apart, and what the Gateway API forbids: two entries where
// one belongs, entries written for another controller, writers that undo each
// other's work for ever, statuses about a generation that is over.
//
// The source is the API server's audit log, where the local cluster records
// every status write of the Gateway API with its response. Without such a log
// the same is inferred from object histories, which show what changed and not
// who changed it: RouteStatus.parents is one atomic list, so that managedFields
// cannot tell entries apart. A Report says which of the two it is.
package audit
