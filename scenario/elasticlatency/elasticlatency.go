// Package elasticlatency is the scenario that asks how long users wait, and
// whether they get errors, while backends come and go and a route is changed.
package elasticlatency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// Scenario is elastic-latency. The traffic is the runner's own, as in
// route-change: attackers in pods hand over histograms, and this question is
// about single requests and their instants.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "elastic-latency",
		Title:    "Latency while backends scale and the route changes",
		Question: "How long do users wait, and do they get errors, while backends come and go under steady load and the route gets CORS, a header and a rewrite?",
		Method: "HTTPS requests are sent at a constant rate by the clock, on kept connections and on new ones, and every one is kept. Meanwhile the backend is scaled up and down, " +
			"the route is changed and changed back, all pods of the backend are replaced, the certificate is, and the gateway itself is scaled up and down, one step of the timeline after the other. The timeline follows from the parameters alone, so " +
			"that repeats can be laid over each other. What requests took after an event is held against what they took before it. Latency counts from when a request was due.",
		Headline: []string{"events-with-spikes", "highest-spike", "errors"},
	},
	Parameters: []scenario.Parameter{
		{Name: "rates", Default: "100,500,1000", Help: "requests a second, with commas between them: the timeline is gone through at each"},
		{Name: "step", Default: 10 * time.Second, Min: float64(time.Second), Max: float64(10 * time.Minute), Help: "time between two events"},
		{Name: "rounds", Default: 3, Min: 1, Max: 100, Help: "how often the backend is scaled up and down"},
		{Name: "kinds", Default: "all", Help: "what happens: all, or names with commas between them"},
		{Name: "backends", Default: 3, Min: 1, Max: 100, Help: "pods of the backend; it is scaled to one more"},
		{Name: "freshEvery", Default: 5, Min: 2, Max: 1000, Help: "one request in so many on a new connection"},
		{Name: "connections", Default: 64, Min: 1, Max: 1000, Help: "kept connections to each place"},
		{Name: "through", Default: "address", OneOf: []string{"address", "replicas"}, Help: "where to: the Gateway's address, or each replica by itself"},
		{Name: "timeout", Default: 10 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(time.Minute), Help: "how long a request may take"},
	},
	Check: func(v map[string]any) []error {
		problems := scenario.Lists(v, "kinds", groups)
		if text, ok := v["rates"].(string); ok {
			if _, err := ratesOf(text); err != nil {
				problems = append(problems, fmt.Errorf("rates: %w", err))
			}
		}
		return problems
	},
	Writes: func(v scenario.Values) []scenario.Write {
		scales, routes, secrets, gateways := 0, 0, 1, 0
		for _, e := range timeline(v) {
			switch {
			case e.route != nil:
				routes++
			case e.certificate:
				secrets++
			case e.gateway:
				gateways++
			default:
				scales++
			}
		}
		rates := len(mustRates(v))
		return []scenario.Write{
			{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "apply", Kind: "Gateway, Deployments and their Services", Count: 5}, {Verb: "create or update", Kind: "Secret", Count: rates*(secrets-1) + 1},
			{Verb: "scale or restart", Kind: "Deployment of the backend", Count: rates * scales}, {Verb: "apply", Kind: "HTTPRoute", Count: rates * (1 + routes)},
			{Verb: "scale", Kind: "Deployment of the data plane", Count: rates * gateways}, {Verb: "delete", Kind: "Namespace", Count: 1},
		}
	},
	Estimate: func(v scenario.Values) time.Duration {
		return 30*time.Second + time.Duration(len(mustRates(v)))*(length(v)+between)
	},
	AnyDialect: true,
	Run:        func(ctx context.Context, t *scenario.Trial) error { return (&elastic{Trial: t}).run(ctx) },
}

// ratesOf reads the list of rates.
func ratesOf(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		switch {
		case err != nil || n < 10 || n > 100_000:
			return nil, fmt.Errorf("%q is not a number from 10 to 100000", part)
		case slices.Contains(all, n):
			return nil, fmt.Errorf("%d is there twice", n)
		}
		all = append(all, n)
	}
	return all, nil
}

// mustRates are those of parameters that were checked.
func mustRates(v scenario.Values) []int {
	all, err := ratesOf(v.String("rates"))
	if err != nil {
		panic(err)
	}
	return all
}

// elastic is one trial of elastic-latency.
type elastic struct {
	*scenario.Trial
	// skipped says why kinds of event are left out.
	skipped map[string]string
	// generation is that of the route.
	generation int64
	proxies    proxies
	passes     []*pass
}

func (e *elastic) run(ctx context.Context) (err error) {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		if back := e.restoreGateway(ctx); back != nil {
			err = errors.Join(err, scenario.Invalid{Reason: back})
		}
	}()
	watch := scenario.WatchSelf()
	defer watch.Stop()
	e.Begin() // so that the events are at the same instants in every repeat
	rates := mustRates(e.Values)
	for i, rate := range rates {
		p := &pass{rate: rate, start: lead + time.Duration(i)*(length(e.Values)+between)}
		e.passes = append(e.passes, p)
		if err := e.perform(ctx, p); err != nil {
			return fmt.Errorf("at %d requests/s: %w", rate, err)
		}
		if p.notServed != "" {
			break
		}
	}
	watch.PauseGate(e.Trial)
	watch.Gates(e.Trial)
	return e.report()
}
