// Package fault is what can be made wrong with truth: one value, which the
// control plane and the replicas ask at the named points where the failure
// would arise in a real gateway. The zero value is the clean implementation.
package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Faults says what is wrong, and how much. A new fault is a field here and a
// question at its point: the methods on Faults, a file for each group. A
// field's comment and its point are its documentation: the table in
// docs/truth.md is made of them.
type Faults struct {
	// Propagation is how much later than it could a replica takes a new
	// configuration.
	Propagation time.Duration `json:"propagation,omitempty" point:"configuration"`
	// Late is a further delay of single replicas, by their number. In pods all have
	// number 0.
	Late map[int]time.Duration `json:"late,omitempty" point:"configuration"`
	// Growth is a further delay for each route that the configuration has.
	Growth time.Duration `json:"growth,omitempty" point:"configuration"`
	// FirstRoute is a further delay of the first configuration of a Gateway that
	// has a route.
	FirstRoute time.Duration `json:"firstRoute,omitempty" point:"configuration"`
	// StatusEarly is how long before the data plane takes a configuration the
	// statuses say that it has.
	StatusEarly time.Duration `json:"statusEarly,omitempty" point:"configuration"`

	// Throttle is how long a replica does not ask for a configuration after it got
	// one.
	Throttle time.Duration `json:"throttle,omitempty" point:"configuration"`
	// CrashEvery lets a replica crash with each n-th configuration. It starts again
	// after 1 s; in a pod its process ends.
	CrashEvery int64 `json:"crashEvery,omitempty" point:"configuration"`

	// KeepsDeleted is how long a replica goes on serving a route that is deleted.
	KeepsDeleted time.Duration `json:"keepsDeleted,omitempty" point:"difference"`
	// StaleEndpoint is how long a replica goes on sending requests to an endpoint
	// that is gone.
	StaleEndpoint time.Duration `json:"staleEndpoint,omitempty" point:"difference"`
	// CertificateLate is how long a replica goes on showing certificates that were
	// replaced.
	CertificateLate time.Duration `json:"certificateLate,omitempty" point:"difference"`
	// IgnoresUpdate is a kind of change to routes that a replica never takes:
	// header, weight, match, host or backend.
	IgnoresUpdate string `json:"ignoresUpdate,omitempty" point:"difference"`
	// ReadyEarly is how long a new replica, which says that it is ready, has no
	// routes.
	ReadyEarly time.Duration `json:"readyEarly,omitempty" point:"difference"`

	// Stall is how long no request is served after endpoints changed.
	Stall time.Duration `json:"stall,omitempty" point:"change"`
	// DropsKeptOnChange closes all connections with every change of the
	// configuration, WebSockets too.
	DropsKeptOnChange bool `json:"dropsKeptOnChange,omitempty" point:"change"`
	// EndsSocketsOnChange ends all WebSockets, and nothing else, with every change
	// of the configuration.
	EndsSocketsOnChange bool `json:"endsSocketsOnChange,omitempty" point:"change"`

	// ErrorEvery answers each n-th request of a replica with status 503.
	ErrorEvery int64 `json:"errorEvery,omitempty" point:"request"`
	// DropEvery resets the connection of each n-th request of a replica, which gets
	// no answer.
	DropEvery int64 `json:"dropEvery,omitempty" point:"request"`
	// HangEvery lets each n-th request of a replica wait before it is served.
	HangEvery int64 `json:"hangEvery,omitempty" point:"request"`
	// HangFor is how long those wait; 0 is 1 s.
	HangFor time.Duration `json:"hangFor,omitempty" point:"request"`

	// DeadAfter is the number of requests after which a replica answers none any
	// more.
	DeadAfter int64 `json:"deadAfter,omitempty" point:"request"`
	// Latency is what each request costs the replica in time of a CPU.
	Latency time.Duration `json:"latency,omitempty" point:"request"`
	// Limit is how many requests a replica serves in a second: each waits for its
	// turn.
	Limit int64 `json:"limit,omitempty" point:"request"`
	// RefusesAbove is how many requests a replica serves in a second: more are
	// answered with status 503 at once.
	RefusesAbove int64 `json:"refusesAbove,omitempty" point:"request"`
	// CrashesAbove is how many requests in a second a replica survives: more let it
	// crash. It starts again after 1 s; in a pod its process ends.
	CrashesAbove int64 `json:"crashesAbove,omitempty" point:"request"`

	// Misroute serves each n-th request that matches a route by another route of
	// the listener.
	Misroute int64 `json:"misroute,omitempty" point:"match"`
	// ErrorsOnChange is how long a route answers with status 503 after it came
	// into force, or changed, on each replica.
	ErrorsOnChange time.Duration `json:"errorsOnChange,omitempty" point:"match"`
	// Flaps is how long a replica goes back to what it served before, once, after
	// it first served a new route, or a new generation of one.
	Flaps time.Duration `json:"flaps,omitempty" point:"match"`

	// ConnectionPerRequest opens a connection to a backend for each request.
	ConnectionPerRequest bool `json:"connectionPerRequest,omitempty" point:"backend"`
	// MaskingRetries is how often a request that failed, or was answered with a
	// status from 500 on, is sent again, whatever the route says.
	MaskingRetries int `json:"maskingRetries,omitempty" point:"backend"`
	// HealthPerRoute is the time after which each replica asks every endpoint again
	// whether it is well, once for each rule that sends requests to it.
	HealthPerRoute time.Duration `json:"healthPerRoute,omitempty" point:"backend"`
	// EjectFor is how long a route does not use an endpoint that failed, or answered
	// with a status from 500 on, unless all its endpoints did.
	EjectFor time.Duration `json:"ejectFor,omitempty" point:"backend"`
	// EjectAfter is after how many failures in a row EjectFor takes effect; 0 is 1.
	EjectAfter int `json:"ejectAfter,omitempty" point:"backend"`
	// EjectShared lets all routes of a replica know what EjectFor goes by.
	EjectShared bool `json:"ejectShared,omitempty" point:"backend"`

	// IgnoreEvery never serves each n-th route, in the order in which the control
	// plane saw them. Its status says that it is accepted.
	IgnoreEvery int `json:"ignoreEvery,omitempty" point:"snapshot"`
	// Ceiling is the number of routes from which on the data plane of a Gateway
	// is told nothing any more: no route beyond, no change, no deletion, until
	// there are fewer.
	Ceiling int `json:"ceiling,omitempty" point:"snapshot"`
	// CeilingSaid says in the statuses of routes beyond the ceiling that they are
	// not accepted.
	CeilingSaid bool `json:"ceilingSaid,omitempty" point:"snapshot"`

	// ErrorsAlways answers all requests for each n-th route, in the order in which
	// the control plane saw them, with status 503.
	ErrorsAlways int `json:"errorsAlways,omitempty" point:"snapshot"`
	// BlastRadius lets a listener answer all requests with status 503 while one of
	// its routes is not valid.
	BlastRadius bool `json:"blastRadius,omitempty" point:"snapshot"`
	// Merges serves the routes of all Gateways at listeners of the same port and
	// hostname, whatever their namespaces.
	Merges bool `json:"merges,omitempty" point:"snapshot"`
	// ForgetsOnStart is how long a control plane that has started tells replicas
	// of no routes.
	ForgetsOnStart time.Duration `json:"forgetsOnStart,omitempty" point:"snapshot"`
	// SingleGateway accepts the oldest Gateway only.
	SingleGateway bool `json:"singleGateway,omitempty" point:"snapshot"`
	// NeedsMatch never serves rules that match all requests. Their routes' statuses
	// say that they are accepted.
	NeedsMatch bool `json:"needsMatch,omitempty" point:"snapshot"`

	// ProgrammedEarly says that Gateways are programmed before a replica serves.
	ProgrammedEarly bool `json:"programmedEarly,omitempty" point:"placement"`
	// NoAddress leaves the addresses out of the statuses of Gateways.
	NoAddress bool `json:"noAddress,omitempty" point:"placement"`

	// Overcount is how many routes too many attachedRoutes counts while there are
	// any.
	Overcount int `json:"overcount,omitempty" point:"count"`
	// Undercount is how many routes too few attachedRoutes counts.
	Undercount int `json:"undercount,omitempty" point:"count"`
	// StuckCount is the number below which attachedRoutes does not fall again,
	// though the routes are deleted.
	StuckCount int `json:"stuckCount,omitempty" point:"count"`
	// CountsFirstListener counts the routes of a Gateway's first listener only:
	// the others have 0.
	CountsFirstListener bool `json:"countsFirstListener,omitempty" point:"count"`

	// DuplicateEntries is how many copies of the control plane's own entry a
	// route's status has besides it.
	DuplicateEntries int `json:"duplicateEntries,omitempty" point:"entry"`
	// ForeignEntries is how many entries under the control plane's name a route's
	// status has for parents that are not its own: those of other controllers,
	// and where the route has too few of them, parents that it does not have.
	ForeignEntries int `json:"foreignEntries,omitempty" point:"entry"`
	// RemovesOthers removes the entries of other controllers.
	RemovesOthers bool `json:"removesOthers,omitempty" point:"entry"`
	// StaleGeneration lets each n-th status of a route say that it is about the
	// generation before.
	StaleGeneration int `json:"staleGeneration,omitempty" point:"entry"`

	// Status is how much later than it could the control plane writes any status.
	Status time.Duration `json:"status,omitempty" point:"write"`
	// CountLate is a further delay of the statuses of Gateways and ListenerSets,
	// which count routes.
	CountLate time.Duration `json:"countLate,omitempty" point:"write"`
	// CountPerWrite writes a Gateway's status once for each route that is counted
	// more or fewer, where one write would do.
	CountPerWrite bool `json:"countPerWrite,omitempty" point:"write"`
	// NoopWrites is how many writes that change nothing follow each write of a
	// status.
	NoopWrites int `json:"noopWrites,omitempty" point:"write"`

	// Leak is how many bytes the control plane leaks in a minute, outside of Go's
	// heap.
	Leak int64 `json:"leak,omitempty" point:"process"`
	// Burn is the share of a CPU that the control plane burns while routes of
	// others change.
	Burn float64 `json:"burn,omitempty" point:"process"`
	// CostPerRoute is the CPU time that the control plane takes for each route with
	// every change.
	CostPerRoute time.Duration `json:"costPerRoute,omitempty" point:"process"`
	// StartsLate is how long a control plane that has started does nothing.
	StartsLate time.Duration `json:"startsLate,omitempty" point:"process"`
	// CutsOnEnd lets a replica that is told to end do so at once, with all its
	// connections.
	CutsOnEnd bool `json:"cutsOnEnd,omitempty" point:"process"`
	// OneCore lets a replica use one CPU only, where it runs in a pod.
	OneCore bool `json:"oneCore,omitempty" point:"process"`
}

// Points are where faults are asked, in the order in which a change passes
// them.
var Points = []struct{ Name, When string }{
	{"snapshot", "the control plane is about to publish what a Gateway's replicas serve"},
	{"placement", "the control plane says how far a Gateway's data plane is"},
	{"count", "the control plane says how many routes a listener has"},
	{"entry", "the control plane says what a route's status is"},
	{"write", "the control plane writes a status"},
	{"configuration", "a replica got a configuration, and is about to put it in force"},
	{"difference", "a replica is about to put in force what differs from what it had"},
	{"change", "a replica put a configuration in force"},
	{"request", "a request came in"},
	{"match", "a request matched a route"},
	{"backend", "a replica asks a backend"},
	{"process", "a process runs"},
}

// Parse reads faults as JSON: durations as text, such as "50ms", or in
// nanoseconds. A name that does not exist is an error.
func Parse(text string) (Faults, error) {
	var f Faults
	if text == "" {
		return f, nil
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return f, fmt.Errorf("faults %q: %w", text, err)
	}
	spellOut(values)
	plain, err := json.Marshal(values)
	if err != nil {
		return f, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, fmt.Errorf("faults %q: %w", text, err)
	}
	if f.IgnoresUpdate != "" && !slices.Contains(Updates, f.IgnoresUpdate) {
		return f, fmt.Errorf("faults %q: ignoresUpdate is none of %s", text, strings.Join(Updates, ", "))
	}
	return f, nil
}

// Updates are the kinds of change that IgnoresUpdate may name.
var Updates = []string{"backend", "header", "host", "match", "weight"}

// spellOut replaces the texts that are durations.
func spellOut(values map[string]any) {
	for name, value := range values {
		switch v := value.(type) {
		case string:
			if d, err := time.ParseDuration(v); err == nil {
				values[name] = d
			}
		case map[string]any:
			spellOut(v)
		}
	}
}

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
