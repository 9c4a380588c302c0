// Package events receives CloudEvents: it counts them by type, and finds out
// which were lost and which came twice, from numbers at the end of their IDs.
//
// The few attributes that matter are read here and not with the CloudEvents
// SDK, whose event costs several allocations for each attribute; the tests
// hold both against each other.
package events
