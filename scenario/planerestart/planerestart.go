// Package planerestart is the scenario that asks what users notice while the
// gateway itself is restarted, killed and scaled.
package planerestart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// Scenario is plane-restart. Its traffic goes to the Gateway's address, as
// users' does: where a pod comes or goes, it is the way there that may fail.
// Each replica is asked by itself beside it, so that one that is given users
// before it has its routes is told from one that is not.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "plane-restart",
		Title:    "Restarts under traffic",
		Question: "What do users notice while the gateway itself is restarted, killed and scaled: errors, lost WebSockets, changes that wait, new pods that serve before they are configured?",
		Method: "Requests are sent to the Gateway's address at a constant rate by the clock, on kept connections and on new ones, and WebSockets are held open, " +
			"while the pods of its control plane or its data plane are restarted, killed or scaled, one thing after the other. Each replica is also asked by itself from " +
			"when it appears. While the control plane is away a route is changed and another one created. In one of the kinds nothing happens: errors there are not the restarts' doing.",
		Headline: []string{"events-with-errors", "errors", "sockets-lost"},
	},
	Parameters: []scenario.Parameter{
		{Name: "kinds", Default: "all", Help: "kinds of event: all, or names with commas between them"},
		{Name: "iterations", Default: 2, Min: 1, Max: 1000, Help: "how often each kind takes place"},
		{Name: "rate", Default: 300, Min: 10, Max: 100000, Help: "requests a second, all together"},
		{Name: "freshEvery", Default: 5, Min: 2, Max: 1000, Help: "one request in so many on a new connection"},
		{Name: "connections", Default: 16, Min: 1, Max: 1000, Help: "kept connections"},
		{Name: "sockets", Default: 20, Min: 0, Max: 1000, Help: "WebSockets that are held open"},
		{Name: "beat", Default: 100 * time.Millisecond, Min: float64(10 * time.Millisecond), Max: float64(time.Minute), Help: "time between two messages on a WebSocket"},
		{Name: "silence", Default: 3 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "time without an echo after which a WebSocket counts as silent"},
		{Name: "timeout", Default: 2 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
		{Name: "rest", Default: time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "time without an event before each"},
		{Name: "watch", Default: 3 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long each event is watched at least"},
		{Name: "settle", Default: 500 * time.Millisecond, Min: float64(50 * time.Millisecond), Max: float64(time.Minute), Help: "how long all must be right again to be so for good"},
		{Name: "limit", Default: 3 * time.Minute, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long the end of an event is waited for"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "pods of the backend"},
	},
	Check: func(v map[string]any) []error {
		problems := append(scenario.Shorter(v, "settle", "limit"), scenario.Shorter(v, "watch", "limit")...)
		return append(problems, scenario.Lists(v, "kinds", names())...)
	},
	Writes: func(v scenario.Values) []scenario.Write {
		events := 0
		for _, k := range chosen(v) {
			if k.name != control {
				events += v.Int("iterations") * len(k.steps)
			}
		}
		return []scenario.Write{
			{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "apply", Kind: "Deployment and its Services", Count: 1}, {Verb: "apply or delete", Kind: "HTTPRoute", Count: 3 + 3*v.Int("iterations")*3},
			{Verb: "restart, scale, or delete pods of", Kind: "the implementation's own Deployments and DaemonSets", Count: events},
			{Verb: "delete", Kind: "Namespace", Count: 1},
		}
	},
	Estimate: func(v scenario.Values) time.Duration {
		total := 30 * time.Second
		for _, k := range chosen(v) {
			total += 5*time.Second + time.Duration(v.Int("iterations")*len(k.steps))*(v.Duration("rest")+max(v.Duration("watch"), k.lasts))
		}
		return total
	},
	Run: func(ctx context.Context, t *scenario.Trial) error { return (&restarts{Trial: t}).run(ctx) },
}

// restarts is one trial of plane-restart.
type restarts struct {
	*scenario.Trial
	// address is the Gateway's: host:port.
	address string
	kinds   []*kindSeen
	// generation is that of the route that is changed.
	generation int64
	// noSockets says why not all WebSockets could be opened: then none are tried
	// any more.
	noSockets string
}

func (r *restarts) run(ctx context.Context) error {
	if _, err := r.SetStage(ctx, scenario.Backends{Pods: r.Values.Int("backends")}, scenario.Listener{Name: "http"}); err != nil {
		return err
	}
	if err := r.makeRoutes(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	var err error
	if r.address, err = r.GatewayAddress(ctx, scenario.ListenerPort); err != nil {
		return err
	}
	watch := scenario.WatchSelf()
	defer watch.Stop()
	all := chosen(r.Values)
	for i, k := range all {
		r.Progress("%s (%d of %d kinds of event)", k.name, i+1, len(all))
		seen, err := r.measure(ctx, k)
		if err != nil {
			return fmt.Errorf("kind %s: %w", k.name, err)
		}
		r.kinds = append(r.kinds, seen)
	}
	watch.Gates(r.Trial)
	r.report()
	return r.unsupported()
}

// unsupported is the error of a trial in which nothing could be done.
func (r *restarts) unsupported() error {
	var reasons []error
	for _, k := range r.kinds {
		switch {
		case k.unsupported != "":
			reasons = append(reasons, fmt.Errorf("%s: %s", k.kind.name, k.unsupported))
		case k.kind.name != control:
			return nil
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return scenario.Unsupported{Reason: errors.Join(reasons...)}
}

func (r *restarts) options() stream.Options {
	return stream.Options{
		Rate: r.Values.Int("rate"), FreshEvery: r.Values.Int("freshEvery"), Connections: r.Values.Int("connections"), Timeout: r.Values.Duration("timeout"),
	}
}
