// Package incident notices what happens to the pods of an implementation
// during a trial: containers that crash, are OOM-killed or restart, pods that
// are evicted or stop being ready. Each is a finding by itself, with the last
// log of what ended.
//
// Restarts are counted from the state at the start, or from where the watch of
// the trial before ended, so that one between two trials is neither lost nor
// counted twice. What a scenario does on purpose it declares with Expect.
package incident
