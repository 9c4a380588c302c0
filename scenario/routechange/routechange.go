// Package routechange asks which kinds of change users notice, by traffic that
// goes on while one thing at a time is changed.
package routechange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// One mechanism does both: the traffic that suffers the errors also tells when
// the new version is in force, by the markers of its own answers. A prober
// beside it would send requests whose errors no table counts, would load the
// gateway a second time, and would have an opinion of its own about when the
// new version came. The price is resolution: a lane is asked as often as its
// share of the rate, some milliseconds on kept connections, which is enough to
// date errors by; route-propagation times to a millisecond.
// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "route-change",
		Title:    "Changes under traffic",
		Question: "Do users get errors while a route, its backends or its listener is changed, by kind of change, and how long until the new version is in force?",
		Method: "Requests are sent at a constant rate by the clock, on kept connections and on new ones, while one thing after the other is changed " +
			"and changed back. Every answer tells by which version of which route, and by which backend, it was given. Between the write and the " +
			"new version the old answer and the new one are right, and everything else is an error. A neighbour, a route that nobody changes, is asked " +
			"all the time. In one of the kinds nothing changes: errors there are not the changes' doing.",
		Headline: []string{"changes-with-errors", "errors", "effect"},
	},
	Parameters: []scenario.Parameter{
		scenario.RouteParameter,
		{Name: "kinds", Default: allKinds, Help: "kinds of change: all, or names with commas between them"},
		{Name: "iterations", Default: 5, Min: 1, Max: 1000, Help: "how often each kind changes, forth and back"},
		{Name: "rate", Default: 500, Min: 10, Max: 100000, Help: "requests a second, all together"},
		{Name: "freshEvery", Default: 5, Min: 2, Max: 1000, Help: "one request in so many on a new connection"},
		{Name: "connections", Default: 16, Min: 1, Max: 1000, Help: "kept connections to each replica"},
		{Name: "through", Default: "replicas", OneOf: []string{"replicas", "address"}, Help: "where to: each replica by itself, or the Gateway's address"},
		{Name: "timeout", Default: 5 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
		{Name: "rest", Default: 500 * time.Millisecond, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "time without a change before each"},
		{Name: "watch", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long each change is watched at least"},
		{Name: "settle", Default: 300 * time.Millisecond, Min: float64(50 * time.Millisecond), Max: float64(time.Minute), Help: "how long the new version must last to be in force for good"},
		{Name: "limit", Default: 30 * time.Second, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long a change is waited for"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "pods of the first backend"},
	},
	Check: func(v map[string]any) []error {
		problems := append(scenario.Shorter(v, "settle", "limit"), scenario.Shorter(v, "watch", "limit")...)
		if names, ok := v["kinds"].(string); ok {
			if _, err := chosenKinds(scenario.RouteOf(v), names); err != nil {
				problems = append(problems, err)
			}
		}
		return problems
	},
	Writes: func(v scenario.Values) []scenario.Write {
		kinds, namespaces, deployments := mustKinds(v), 1, 1
		for _, k := range kinds {
			switch k.name {
			case "cross-namespace":
				namespaces, deployments = namespaces+1, deployments+1
			case "endpoint", "scale", "service":
				deployments++
			}
		}
		return []scenario.Write{
			{Verb: "create", Kind: "Namespace", Count: namespaces}, {Verb: "apply", Kind: "Deployment and its Service", Count: deployments},
			{Verb: "apply or delete", Kind: "what changes: " + scenario.RouteOf(v).Kind + ", ReferenceGrant, Gateway, Secret, Pod, Deployment", Count: len(kinds) * (1 + 2*v.Int("iterations"))},
			{Verb: "delete", Kind: "Namespace", Count: namespaces},
		}
	},
	Estimate: func(v scenario.Values) time.Duration {
		total := 30 * time.Second
		for _, k := range mustKinds(v) {
			total += 5*time.Second + time.Duration(2*v.Int("iterations"))*(v.Duration("rest")+max(v.Duration("watch"), k.lasts)+100*time.Millisecond)
		}
		return total
	},
	Run: func(ctx context.Context, t *scenario.Trial) error { return (&routeChanges{Trial: t}).run(ctx) },
}

// mustKinds are the chosen kinds of parameters that were checked.
func mustKinds(v scenario.Values) []*kindOfChange {
	kinds, err := chosenKinds(scenario.RouteOf(v), v.String("kinds"))
	if err != nil {
		panic(err)
	}
	return kinds
}

// routeChanges is one trial of route-change.
type routeChanges struct {
	*scenario.Trial
	stage *scenario.Stage
	kinds []*kindChanges
	// features are what the implementation says that it supports; none means
	// that it does not say. channel is that of the definitions.
	features []string
	channel  string
}

// route is the kind that is changed.
func (r *routeChanges) route() *scenario.Route { return scenario.RouteOf(r.Values) }

func (r *routeChanges) run(ctx context.Context) (err error) {
	if err := r.FindRoute(ctx, r.route()); err != nil {
		return err
	}
	if r.stage, err = r.SetStage(ctx, scenario.Backends{Pods: r.Values.Int("backends")}, r.route().Listener); err != nil {
		return err
	}
	if err := r.discover(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	always := &changing{Trial: r.Trial, stage: r.stage}
	defer func() { err = errors.Join(err, always.removeForeign(ctx)) }()
	if err := always.putNeighbour(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	watch := scenario.WatchSelf()
	defer watch.Stop()
	chosen := mustKinds(r.Values)
	for i, kind := range chosen {
		r.Progress("%s (%d of %d kinds of change)", kind.name, i+1, len(chosen))
		seen, err := r.measure(ctx, kind)
		if err != nil {
			return fmt.Errorf("kind %s: %w", kind.name, err)
		}
		r.kinds = append(r.kinds, seen)
	}
	watch.Gates(r.Trial)
	r.report()
	return nil
}

// discover finds out what can be asked of the implementation.
func (r *routeChanges) discover(ctx context.Context) error {
	api, err := kube.FindGatewayAPI(ctx, r.Kube)
	if err != nil {
		return err
	}
	r.channel = api.Channel
	var class gatewayv1.GatewayClass
	if err := r.Kube.Get(ctx, client.ObjectKey{Name: r.Target.GatewayClass}, &class); err != nil {
		return fmt.Errorf("read %s: %w", kube.Describe(&class), err)
	}
	r.features = kube.Features(&class)
	return nil
}

// lacks says why a kind cannot be asked for, or "".
func (r *routeChanges) lacks(kind *kindOfChange) string {
	switch {
	case kind.experimental && r.channel != "experimental":
		return "the cluster's definitions of the Gateway API are of the " + r.channel + " channel, which lacks the field"
	case kind.feature != "" && len(r.features) > 0 && !slices.Contains(r.features, kind.feature):
		return "the GatewayClass does not list the feature " + kind.feature
	}
	return ""
}

func (r *routeChanges) trafficOptions() stream.Options {
	return stream.Options{
		Rate: r.Values.Int("rate"), FreshEvery: r.Values.Int("freshEvery"), Connections: r.Values.Int("connections"), Timeout: r.Values.Duration("timeout"),
		Protocol: r.route().Protocol,
	}
}
