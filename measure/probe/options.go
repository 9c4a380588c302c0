package probe

import (
	"errors"
	"fmt"
	"time"
)

// Connections says on which connections probes are sent.
type Connections uint8

const (
	// Kept is one connection to each target that is kept open, over
	// questions too.
	Kept Connections = 1 << iota
	// Fresh is a new connection for each probe, closed by a reset so that its local
	// port is free at once.
	Fresh
	// Both is each of them.
	Both = Kept | Fresh
)

// String is the name in results.
func (c Connections) String() string {
	switch c {
	case Kept:
		return "kept"
	case Fresh:
		return "new"
	case Both:
		return "kept and new"
	}
	return fmt.Sprintf("connections %d", uint8(c))
}

// MarshalText writes the name.
func (c Connections) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// DefaultSparse is the share of what is measured to which it is known.
const DefaultSparse = 0.02

// Options say how to probe. Zero values mean the defaults.
type Options struct {
	// Connections is Both by default.
	Connections Connections
	// Step is the shortest time between two probes on a kept connection: the
	// resolution of what is measured. Default 1 ms.
	Step time.Duration
	// FreshStep is the same for probes on new connections, which cost several
	// times as much on both sides. Default Step.
	FreshStep time.Duration
	// Sparse is the gap between two probes as a share of the time that has
	// passed, where that is longer than the step: what takes long is timed to
	// this share of it. Default DefaultSparse.
	Sparse float64
	// Calm is how many steps lie between two probes of a lane on which no change
	// is expected, or fewer where Settle would take longer otherwise: one that has
	// answered right; and, where kept connections are probed as well, new
	// connections until any lane has. Default 3.
	Calm int
	// InFlight is how many new connections to a target may be open at once,
	// so that a slow answer does not blind the prober. Default 8. On a kept
	// connection it is one.
	InFlight int
	// Timeout is how long a probe may take, connecting included. Default 1 s.
	Timeout time.Duration
	// Limit is how long after t0 the new state is waited for. Default 60 s.
	Limit time.Duration
	// Settle is how long every lane must answer right, and nothing else, until
	// the inquiry ends. Default 250 ms.
	Settle time.Duration
	// SettleAnswers is how many right answers must come on every lane in that
	// time. Default 20.
	SettleAnswers int
	// OldAnswers is how many answers in a row must show the old state on every
	// lane before t0. Default 3.
	OldAnswers int
	// Examples is how many answers that were not right and not old are kept
	// with their details, for each lane. Default 10.
	Examples int
	// Realtime asks for a thread that runs before all ordinary ones. On a
	// machine that is busy beyond its processors probes are then milliseconds
	// less late, and what is probed is interrupted more often. Outcome.Realtime
	// says whether it was granted.
	Realtime bool
}

func (o *Options) setDefaults() {
	setDefault(&o.Connections, Both)
	setDefault(&o.Step, time.Millisecond)
	setDefault(&o.FreshStep, o.Step)
	setDefault(&o.Sparse, DefaultSparse)
	setDefault(&o.Calm, 3)
	setDefault(&o.InFlight, 8)
	setDefault(&o.Timeout, time.Second)
	setDefault(&o.Limit, time.Minute)
	setDefault(&o.Settle, 250*time.Millisecond)
	setDefault(&o.SettleAnswers, 20)
	setDefault(&o.OldAnswers, 3)
	setDefault(&o.Examples, 10)
}

func setDefault[T comparable](place *T, value T) {
	var zero T
	if *place == zero {
		*place = value
	}
}

// validate returns every problem.
func (o *Options) validate() error {
	var problems []error
	if o.Connections > Both {
		problems = append(problems, fmt.Errorf("unknown %v", o.Connections))
	}
	if step := min(o.Step, o.FreshStep); step < 50*time.Microsecond {
		problems = append(problems, fmt.Errorf("step %v is below 50us, which a thread cannot keep", step))
	}
	for name, value := range map[string]time.Duration{"timeout": o.Timeout, "limit": o.Limit, "settle": o.Settle} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("%s %v is negative", name, value))
		}
	}
	for name, value := range map[string]int{"calm": o.Calm, "in flight": o.InFlight, "settle answers": o.SettleAnswers, "old answers": o.OldAnswers, "examples": o.Examples} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("%s %d is negative", name, value))
		}
	}
	if o.Sparse < 0 || o.Sparse > 1 {
		problems = append(problems, fmt.Errorf("sparse %v is not a share", o.Sparse))
	}
	return errors.Join(problems...)
}
