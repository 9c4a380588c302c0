// Package backendfailover is the scenario that asks how many requests go to a
// backend that fails, and how soon it gets some again when it is well.
package backendfailover

import (
	"context"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// Scenario is backend-failover.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "backend-failover",
		Title:    "A backend that fails and comes back",
		Question: "How many requests still go to a backend that fails, how soon does it get requests again when it is well, and who notices?",
		Method: "Of several backends one fails and is well again, in turns: it refuses connections, resets them, hangs, answers 503, is slow, is no endpoint any more, or is one that terminates. " +
			"Requests are sent to many paths at a constant rate by the clock all the time. The backend itself counts what comes to it, so that failures that retries hide are seen too, and requests that no user sent.",
		Headline: []string{"errors", "shed", "return"},
	},
	Parameters: []scenario.Parameter{
		{Name: "kinds", Default: "all", Help: "ways to fail: all, or names with commas between them"},
		{Name: "policy", Default: none, OneOf: []string{none, retries, dialect.OutlierDetection, dialect.HealthChecks},
			Help: "what there is against it: none, retries of the routes, or a policy of the implementation's own"},
		{Name: "period", Default: 12 * time.Second, Min: float64(time.Second), Max: float64(10 * time.Minute), Help: "how long the backend fails, and how long it is well"},
		{Name: "cycles", Default: 2, Min: 1, Max: 100, Help: "how often it fails"},
		{Name: "routes", Default: 16, Min: 1, Max: 256, Help: "routes"},
		{Name: "paths", Default: 16, Min: 1, Max: 16, Help: "rules of each route, with a path each"},
		{Name: "healthy", Default: 3, Min: 1, Max: 100, Help: "backends beside the one that fails"},
		{Name: "rate", Default: 200, Min: 10, Max: 100000, Help: "requests a second, all together"},
		{Name: "freshEvery", Default: 5, Min: 2, Max: 1000, Help: "one request in so many on a new connection"},
		{Name: "connections", Default: 256, Min: 1, Max: 1000, Help: "kept connections to each place"},
		{Name: "through", Default: "address", OneOf: []string{"address", "replicas"}, Help: "where to: the Gateway's address, or each replica by itself"},
		{Name: "timeout", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
		{Name: "quiet", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "time without a request after which the backend counts as left alone"},
	},
	Check: func(v map[string]any) []error {
		return append(scenario.Lists(v, "kinds", names()), scenario.Shorter(v, "quiet", "period")...)
	},
	Writes: func(v scenario.Values) []scenario.Write {
		endpoints := 1
		for _, k := range chosen(v) {
			if k.endpoint != nil {
				endpoints += 2 * v.Int("cycles")
			}
		}
		return []scenario.Write{
			{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "apply", Kind: "Gateway, Deployments and their Services", Count: 6},
			{Verb: "apply", Kind: "HTTPRoute", Count: v.Int("routes")}, {Verb: "create or patch", Kind: "EndpointSlice", Count: endpoints},
			{Verb: "delete", Kind: "Namespace", Count: 1},
		}
	},
	Estimate: func(v scenario.Values) time.Duration {
		each := lead + 2*time.Second + time.Duration(2*v.Int("cycles"))*v.Duration("period")
		return 40*time.Second + time.Duration(len(chosen(v)))*each
	},
	Run: func(ctx context.Context, t *scenario.Trial) error { return (&failover{Trial: t}).run(ctx) },
}

// The policies.
const (
	none    = "none"
	retries = "retries"
)

// retryAttempts is how often a route with retries wants a request sent again.
const retryAttempts = 2

// failover is one trial of backend-failover.
type failover struct {
	*scenario.Trial
	pool *pool
	// places are where the traffic goes.
	places []stream.Endpoint
	// proxies is how many replicas the data plane has.
	proxies int
	kinds   []*kindSeen
}

func (f *failover) run(ctx context.Context) error {
	if err := f.prepare(ctx); err != nil {
		return err
	}
	watch := scenario.WatchSelf()
	defer watch.Stop()
	f.Begin()
	all := chosen(f.Values)
	for i, k := range all {
		f.Progress("%s (%d of %d ways to fail)", k.name, i+1, len(all))
		seen, err := f.measure(ctx, k)
		if err != nil {
			return fmt.Errorf("kind %s: %w", k.name, err)
		}
		f.kinds = append(f.kinds, seen)
	}
	watch.Gates(f.Trial)
	return f.report()
}

// paths is how many paths are asked for.
func (f *failover) paths() int { return f.Values.Int("routes") * f.Values.Int("paths") }
