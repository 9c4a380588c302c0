// Package routescale is the scenario that asks what many routes cost, each with
// a Service and endpoints of its own, and where it ends.
package routescale

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// Scenario is route-scale. It is the search for a ceiling, too, where it is
// given more routes than a gateway may carry.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "route-scale",
		Title:    "Many routes",
		Question: "What do many routes, each with a Service and endpoints of its own, cost both planes, at rest and while they change; is memory given back; and at how many does it end, silently or not?",
		Method: "Routes are created in steps, spread over many namespaces; the next step begins when every route of the one before is accepted and answers with its own marker on every replica. " +
			"Then they rest, endpoints are replaced and routes edited at a constant rate by the clock, they rest again, both planes are restarted, everything is deleted, and what remains rests once more. " +
			"Between these, every route is asked on every replica. Where a step does not come into force, it is tried whether any new route, any change and any deletion still does. " +
			"Use of resources is read at the edges of each part.",
		Headline: []string{"routes-served", "step-served", "bytes-per-route-data-plane"},
	},
	Parameters: append([]scenario.Parameter{
		{Name: "namespaces", Default: 10, Min: 1, Max: 2000, Help: "namespaces that the routes are spread over"},
		{Name: "routes", Default: 30, Min: 1, Max: 5000, Help: "routes of each namespace, each with a Service and an EndpointSlice"},
	}, common()...),
	Check: check,
	Writes: func(v scenario.Values) []scenario.Write {
		n := total(v) + lateRoutes
		return slices.Concat([]scenario.Write{{Verb: "create", Kind: "HTTPRoute, Service and EndpointSlice", Count: n}}, writes(v),
			[]scenario.Write{{Verb: "delete", Kind: "HTTPRoute, Service and EndpointSlice", Count: n}, {Verb: "delete", Kind: "Namespace", Count: 1 + v.Int("namespaces")}})
	},
	Estimate: estimate,
	Run:      func(ctx context.Context, t *scenario.Trial) error { return (&scaling{Trial: t}).run(ctx) },
}

// common are parameters of every scenario about size.
func common() []scenario.Parameter {
	return []scenario.Parameter{
		{Name: "steps", Default: 10, Min: 1, Max: 1000, Help: "in how many steps they are created"},
		{Name: "writers", Default: 16, Min: 1, Max: 256, Help: "writes under way at once"},
		{Name: "rest", Default: 10 * time.Second, Min: float64(500 * time.Millisecond), Max: float64(time.Hour), Help: "how long nothing is done in each part at rest"},
		{Name: "churn", Default: 30 * time.Second, Min: 0, Max: float64(12 * time.Hour), Help: "how long endpoints are replaced and routes edited"},
		{Name: "rate", Default: 20, Min: 1, Max: 10000, Help: "changes a second meanwhile"},
		{Name: "singles", Default: 5, Min: 0, Max: 1000, Help: "single changes that are timed: with few routes, with all, and while others change"},
		{Name: "restart", Default: "both", OneOf: []string{"both", "control", "data", "none"}, Help: "planes that are restarted with all routes there"},
		{Name: "limit", Default: 2 * time.Minute, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long each thing is waited for"},
	}
}

// check bounds the number of all routes.
func check(v map[string]any) []error {
	n := 1
	for _, name := range []string{"namespaces", "sets", "routes"} {
		if each, ok := v[name].(int); ok {
			n *= each
		}
	}
	if n > mostRoutes {
		return []error{fmt.Errorf("these are %d routes in all, and there may be %d", n, mostRoutes)}
	}
	return nil
}

// writes are those of every scenario about size.
func writes(v scenario.Values) []scenario.Write {
	changes := int(v.Duration("churn").Seconds()*float64(v.Int("rate"))) + 3*v.Int("singles") + 2
	return []scenario.Write{
		{Verb: "create", Kind: "Namespace", Count: 1 + v.Int("namespaces")}, {Verb: "create", Kind: "Deployment, Service and Gateway", Count: 1},
		{Verb: "change", Kind: "HTTPRoute or EndpointSlice", Count: changes},
		{Verb: "restart", Kind: "the implementation's own Deployments and DaemonSets", Count: restarts(v)},
	}
}

func estimate(v scenario.Values) time.Duration {
	return 45*time.Second + 4*v.Duration("rest") + v.Duration("churn") + time.Duration(v.Int("steps"))*(pauseOf(v)+time.Second) +
		time.Duration(total(v))*60*time.Millisecond + time.Duration(3*v.Int("singles"))*500*time.Millisecond + time.Duration(restarts(v))*20*time.Second
}

// mostRoutes is how many there may be.
const mostRoutes = 100000

// total is how many routes are to be created.
func total(v scenario.Values) int {
	n := v.Int("namespaces") * v.Int("routes")
	if _, sets := v["sets"]; sets {
		n *= v.Int("sets")
	}
	return n
}

// restarts is how many planes are restarted.
func restarts(v scenario.Values) int {
	switch v.String("restart") {
	case "both":
		return 2
	case "none":
		return 0
	}
	return 1
}

// pauseOf is for how long a step rests when all of it serves.
func pauseOf(v scenario.Values) time.Duration { return v.Duration("rest") / 5 }

// scaling is one trial of route-scale.
type scaling struct {
	*scenario.Trial
	stage      *scenario.Stage
	status     *scenario.RouteStatus
	namespaces []string
	model      *model
	// perSet is how many routes each ListenerSet has; 0 where there are none. ready
	// is how long they took, by step, and unready what was lacking to the last.
	perSet  int
	sets    []*set
	ready   []float64
	unready string
	// written is how many objects of routes were created, writing for how long.
	written atomic.Int64
	writing time.Duration
	// routes are those that were created, in their order, also those that were
	// deleted since.
	routes []*route

	phases  []*phase
	steps   []*step
	ceiling *ceiling // nil where there is none
	churned churned
	singles []single
	sweeps  []*sweep
	again   []*restarted
	deleted deletion
}

func (s *scaling) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	watch := scenario.WatchSelf()
	defer watch.Stop()
	defer s.status.Stop()
	if err := s.live(ctx); err != nil {
		return err
	}
	s.enter(ctx, "end")
	watch.ClockGate(s.Trial)
	s.status.Gates(s.Trial)
	s.report()
	return nil
}

// prepare makes all but the routes.
func (s *scaling) prepare(ctx context.Context) error {
	if err := s.supportsSets(ctx); err != nil {
		return err
	}
	var err error
	if s.stage, err = s.SetStage(ctx, scenario.Backends{Pods: backends}, scenario.Listener{Name: "http", Open: true}); err != nil {
		return err
	}
	s.Progress("making %d namespaces", s.Values.Int("namespaces"))
	if s.namespaces, err = s.MakeNamespaces(ctx, s.Values.Int("namespaces")); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if s.model, err = s.newModel(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := s.allowSets(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	s.Begin()
	s.status, err = scenario.WatchRouteStatusEverywhere(ctx, s.Trial, scenario.HTTPRoute, s.Target.ControllerName, 1)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// live is all that routes go through.
func (s *scaling) live(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		s.resting(atRestBefore), s.grow, s.resting(atRestFull), s.trySingles(withAll), s.sweepAll("with all routes"),
		s.churn, s.restartPlanes, s.delete, s.resting(atRestDeleted),
	} {
		if err := part(ctx); err != nil {
			return invalid(err)
		}
	}
	return nil
}

// invalid makes an error of the API server's, or of ours, what it is.
func invalid(err error) error {
	if outcome, _ := scenario.Outcome(err); outcome != result.Invalid {
		return err
	}
	return scenario.Invalid{Reason: err}
}

// resting does nothing for a while.
func (s *scaling) resting(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		s.enter(ctx, name)
		s.Progress("%s, %d routes", name, s.there())
		return pause(ctx, s.Values.Duration("rest"))
	}
}

// pause sleeps, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
