// Package kube is what gatemark does to a cluster: make objects that carry its
// label, wait for what they should become, find the replicas behind a Gateway,
// and remove everything again.
//
// Functions return errors that say which object, how far it got and after how
// long. Nothing here knows a scenario, an implementation or a test. Objects
// without gatemark's owner label are read, never deleted.
package kube
