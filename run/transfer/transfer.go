// Package transfer brings finished trials from the runner in the cluster to
// the user's machine. The runner serves its run directory; the client asks
// through whatever path there is to the runner (the API server's pod proxy),
// in ranges that carry checksums of their own, so that a cut or damaged answer
// is asked for again and a finished file is known to be whole.
//
// Every request carries the run's token: the runner answers to nobody else.
package transfer

import (
	"time"
)

// The headers of the protocol.
const (
	TokenHeader    = "Gatemark-Token"
	ChecksumHeader = "Gatemark-Sha256"
)

// rangeSize bounds one answer: small enough to be repeated cheaply, large
// enough that 40,000 routes' worth of series need few of them.
const rangeSize = 1 << 20

// Status is where the runner stands.
type Status struct {
	RunID string `json:"runID"`
	// Current is the attempt in hand; empty between trials and at the end.
	Current string `json:"current,omitempty"`
	// Progress is what the trial in hand says of itself.
	Progress string    `json:"progress,omitempty"`
	Since    time.Time `json:"since"`
	// Finished and Planned count trials; an attempt that was invalid and is
	// to be repeated is not finished.
	Finished int `json:"finished"`
	Planned  int `json:"planned"`
	// Trials lists every attempt on disk.
	Trials []string `json:"trials"`
	// Done: every trial has its result. Error: the runner gave up.
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
}

// A File of a trial.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}
