// Package scenario holds the questions that gatemark asks of an
// implementation, one file each, with its manifests beside it. A scenario
// drives one trial: it makes objects, sends traffic, watches, and leaves
// metrics, series, figures and findings in the trial's result.
//
// A scenario knows nothing about any implementation: what differs between
// implementations comes in through Target, as data.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gatemark/gatemark/result"
)

// A Scenario is one question and the procedure that answers it.
type Scenario struct {
	result.Scenario
	Parameters []Parameter
	// Check finds problems between parameters that are each good alone. It
	// may be nil.
	Check func(values map[string]any) []error
	// Writes lists what a trial writes to the cluster.
	Writes func(v Values) []Write
	// Rights are what a trial takes of the runner beyond what every trial does. It
	// may be nil.
	Rights func(v Values) []rbacv1.PolicyRule
	// Estimate is how long a trial takes on a small machine, set-up and
	// clean-up included.
	Estimate func(v Values) time.Duration
	// Joins tells that the scenario's routes name the Gateways of all
	// implementations where the isolation is joined.
	Joins bool
	// AnyDialect: its routes are no more than a dialect.Route says, so that it is
	// measured in every dialect.
	AnyDialect bool
	// Run performs the trial. It returns an error only where the trial could
	// not be carried out; an implementation that misbehaves is a result.
	Run func(ctx context.Context, t *Trial) error
}

// A Parameter of a scenario: see plan.Parameter, which has the same shape.
type Parameter struct {
	Name     string
	Default  any
	Min, Max float64
	OneOf    []string
	Help     string
}

// A Write is a kind of object that a trial writes, and how often.
type Write struct {
	Verb  string `json:"verb"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Values are the resolved parameters of a trial.
type Values map[string]any

// Int returns an integer parameter. Parameters are resolved before a trial
// begins, so that a missing one is a defect and panics.
func (v Values) Int(name string) int {
	switch n := v[name].(type) {
	case int:
		return n
	case float64: // as JSON has it
		return int(n)
	}
	panic(fmt.Sprintf("parameter %s is %T, want int", name, v[name]))
}

// Float returns a number that need not be whole.
func (v Values) Float(name string) float64 {
	n, ok := v[name].(float64)
	if !ok {
		panic(fmt.Sprintf("parameter %s is %T, want float64", name, v[name]))
	}
	return n
}

// Duration returns a duration parameter.
func (v Values) Duration(name string) time.Duration {
	s, _ := v[name].(string)
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(fmt.Sprintf("parameter %s: %v", name, err))
	}
	return d
}

// String returns a text parameter.
func (v Values) String(name string) string {
	s, ok := v[name].(string)
	if !ok {
		panic(fmt.Sprintf("parameter %s is %T, want string", name, v[name]))
	}
	return s
}

// Bool returns a truth value.
func (v Values) Bool(name string) bool {
	b, ok := v[name].(bool)
	if !ok {
		panic(fmt.Sprintf("parameter %s is %T, want bool", name, v[name]))
	}
	return b
}

// Invalid says that a trial is no evidence: we mismeasured, or could not
// measure. The trial is repeated.
type Invalid struct{ Reason error }

func (i Invalid) Error() string { return i.Reason.Error() }
func (i Invalid) Unwrap() error { return i.Reason }

// Failed says that the implementation misbehaved so much that the trial could
// not go on: a Gateway that never gets an address. That is a finding.
type Failed struct{ Reason error }

func (f Failed) Error() string { return f.Reason.Error() }
func (f Failed) Unwrap() error { return f.Reason }

// Unsupported says that the implementation lacks what the scenario needs.
type Unsupported struct{ Reason error }

func (u Unsupported) Error() string { return u.Reason.Error() }
func (u Unsupported) Unwrap() error { return u.Reason }

// Outcome tells what an error of Run means for the trial.
func Outcome(err error) (result.Outcome, string) {
	if err == nil {
		return result.OK, ""
	}
	for _, c := range []struct {
		is      bool
		outcome result.Outcome
	}{
		{as[Failed](err), result.Failed},
		{as[Unsupported](err), result.Unsupported},
	} {
		if c.is {
			return c.outcome, err.Error()
		}
	}
	return result.Invalid, err.Error()
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}
