package fault

import "time"

// An Arrival is a configuration that a replica got.
type Arrival struct {
	// Replica is its number.
	Replica int
	// Routes is how many the configuration has.
	Routes int
	// First: none before had any.
	First bool
}

// BeforeApply is how long a replica waits between having a configuration and
// putting it in force.
func (f Faults) BeforeApply(a Arrival) time.Duration {
	wait := f.Propagation + f.Late[a.Replica] + f.StatusEarly + time.Duration(a.Routes)*f.Growth
	if a.First {
		wait += f.FirstRoute
	}
	return wait
}

// Crashes tells whether a replica crashes with its n-th configuration, from 1
// on.
func (f Faults) Crashes(n int64) bool { return each(n, f.CrashEvery) }

// BeforeRouteStatus is how long the control plane waits before it writes the
// status of a route.
func (f Faults) BeforeRouteStatus() time.Duration { return f.Status }

// BeforeGatewayStatus is how long it waits before it writes the status of
// anything else.
func (f Faults) BeforeGatewayStatus() time.Duration { return f.Status + f.CountLate }
