// Package fault is what can be made wrong with truth: one value, which the
// control plane and the replicas ask at the named points where the failure
// would arise in a real gateway. The zero value is the clean implementation.
package fault

import (
	"sync/atomic"
	"time"
)

// Faults says what is wrong. A new fault is a field here and a question at its
// point; the points that exist are the methods below.
type Faults struct {
	// Propagation is how much later than it could a replica takes a new
	// configuration.
	Propagation time.Duration `json:"propagation,omitempty"`
	// Late is a further delay of single replicas, by their number.
	Late map[int]time.Duration `json:"late,omitempty"`
	// Status is how much later than it could the control plane writes status.
	Status time.Duration `json:"status,omitempty"`
	// ErrorEvery answers each n-th request of a replica with status 503; 0
	// none.
	ErrorEvery int64 `json:"errorEvery,omitempty"`
}

// BeforeApply is how long a replica waits between having a configuration and
// putting it in force.
func (f Faults) BeforeApply(replica int) time.Duration { return f.Propagation + f.Late[replica] }

// BeforeStatus is how long the control plane waits before it writes.
func (f Faults) BeforeStatus() time.Duration { return f.Status }

// Refuses tells whether a replica answers its n-th request, from 1 on, with an
// error instead of serving it.
func (f Faults) Refuses(n int64) bool { return f.ErrorEvery > 0 && n%f.ErrorEvery == 0 }

// A Switch holds the faults that are in force. The zero value has none, and a
// nil Switch never will.
type Switch struct{ faults atomic.Pointer[Faults] }

// Set puts other faults in force.
func (s *Switch) Set(f Faults) { s.faults.Store(&f) }

// Now is what is in force.
func (s *Switch) Now() Faults {
	if s == nil {
		return Faults{}
	}
	if f := s.faults.Load(); f != nil {
		return *f
	}
	return Faults{}
}
