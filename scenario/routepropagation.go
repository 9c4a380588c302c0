package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var routePropagation = &Scenario{
	Scenario: result.Scenario{
		Name:     "route-propagation",
		Title:    "Route propagation",
		Question: "How long until a new route is in force on every replica of the data plane, and do users see errors on the way?",
		Method: "Routes are created one after another; each stays. A route has a host name and a marker of its own, so an answer proves " +
			"which route in which generation served it. Every replica is asked once in each step, on a connection that is kept and on new " +
			"ones, from before the write on: it must answer 404 first. The clock starts before the write is sent. Four clocks run for each " +
			"route: API answered; status current (Accepted and ResolvedRefs true in the observed generation); first served; served for " +
			"good, which is the first right answer after the last one that was not right, on every replica and kind of connection. A route " +
			"that is not served for good within the limit is censored: it counts as slower than all that were seen.",
		Headline: []string{"stable", "first-served", "status", "errors"},
	},
	Parameters: []Parameter{
		{Name: "routes", Default: 100, Min: 1, Max: 40000, Help: "routes to create, one after another"},
		{Name: "step", Default: time.Millisecond, Min: float64(100 * time.Microsecond), Max: float64(time.Second), Help: "time between two probes of a replica on its kept connection"},
		{Name: "freshStep", Default: 4 * time.Millisecond, Min: float64(100 * time.Microsecond), Max: float64(time.Second), Help: "the same on new connections, which cost both sides far more than a request"},
		{Name: "connections", Default: "both", OneOf: []string{"both", "kept", "new"}, Help: "kinds of connections to probe on"},
		{Name: "limit", Default: time.Minute, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long a route is waited for"},
		{Name: "settle", Default: 250 * time.Millisecond, Min: float64(10 * time.Millisecond), Max: float64(time.Minute), Help: "how long answers must stay right"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "backend pods"},
		{Name: "configChecks", Default: 50, Min: 0, Max: 40000, Help: "routes whose time is held against the proxy's own configuration dump, evenly spread"},
	},
	Check: func(v map[string]any) []error { return shorter(v, "settle", "limit") },
	Writes: func(v Values) []Write {
		return []Write{
			{"create", "Namespace", 1}, {"create", "Deployment", 1}, {"create", "Service", 1}, {"create", "Gateway", 1},
			{"create", "HTTPRoute", v.Int("routes")}, {"delete", "Namespace", 1},
		}
	},
	Estimate: func(v Values) time.Duration {
		each := v.Duration("settle") + 150*time.Millisecond
		return 25*time.Second + time.Duration(v.Int("routes"))*each
	},
	Run: func(ctx context.Context, t *Trial) error { return (&propagation{Trial: t}).run(ctx) },
}

// propagation is one trial of route-propagation.
type propagation struct {
	*Trial
	prober *probe.Prober
	status *routeStatus
	config *configClock
	checks int
	routes []propagated
}

// propagated is what was seen of one route.
type propagated struct {
	name     string
	answered time.Duration // since t0
	at       time.Time     // t0
	outcome  *probe.Outcome
	status   time.Duration // since t0; negative where not seen
	config   []configInstant
}

func (p *propagation) run(ctx context.Context) error {
	stage, err := p.setStage(ctx, p.Values.Int("backends"), listener{Name: "http"})
	if err != nil {
		return err
	}
	if p.prober, err = probe.New(stage.targets(), p.options()); err != nil {
		return Invalid{err}
	}
	defer p.prober.Close()
	if p.status, err = watchRouteStatus(ctx, p.Trial); err != nil {
		return Invalid{err}
	}
	defer p.status.stop()
	p.config = openConfigClock(ctx, p.Trial, stage)
	defer p.config.close()
	watch := startSelfWatch()
	total := p.Values.Int("routes")
	for i := range total {
		p.Progress("route %d of %d", i+1, total)
		route, err := p.one(ctx, i)
		if err != nil {
			return fmt.Errorf("after %d of %d routes: %w", i, total, err)
		}
		p.routes = append(p.routes, route)
	}
	watch.gates(p.Trial)
	p.status.gates(p.Trial)
	p.report()
	return nil
}

func (p *propagation) options() probe.Options {
	return probe.Options{
		Connections: map[string]probe.Connections{"both": probe.Both, "kept": probe.Kept, "new": probe.Fresh}[p.Values.String("connections")],
		Step:        p.Values.Duration("step"),
		FreshStep:   p.Values.Duration("freshStep"),
		Limit:       p.Values.Duration("limit"),
		Settle:      p.Values.Duration("settle"),
		// Where it is not granted, the gates tell whether it was needed.
		Realtime: true,
	}
}

// oldLimit bounds the wait for the old state before a route is created.
const oldLimit = 30 * time.Second

// one creates a route and measures until it is in force everywhere.
func (p *propagation) one(ctx context.Context, i int) (propagated, error) {
	name := fmt.Sprintf("route-%05d", i)
	expect := marker.Expect(name, 1)
	host := name + ".gatemark.test"
	objects, err := p.render("route.yaml", routeManifest, map[string]any{
		"Name": name, "Namespace": p.Namespace, "Gateway": GatewayName, "Hosts": []string{host}, "Marker": expect.Filter(),
	})
	if err != nil {
		return propagated{}, Invalid{err}
	}
	old := probe.Answers(404)
	// Some data planes open a listener's port with its first route only.
	old.Refused = i == 0
	inquiry, err := p.prober.Ask(probe.Question{Host: host, Old: old, New: probe.Serves(expect)})
	if err != nil {
		return propagated{}, Invalid{err}
	}
	defer inquiry.Stop() // does nothing after Wait
	waiting, cancel := context.WithTimeout(ctx, oldLimit)
	defer cancel()
	if err := inquiry.Old(waiting); err != nil {
		return propagated{}, Invalid{fmt.Errorf("route %s, before it was created: %w", name, err)}
	}
	t0 := time.Now()
	inquiry.Mark(t0)
	if err := kube.Create(ctx, p.Kube, client.Object(objects[0])); err != nil {
		return propagated{}, Invalid{err}
	}
	answered := time.Since(t0)
	outcome, err := inquiry.Wait(ctx)
	if err != nil {
		return propagated{}, Invalid{err}
	}
	if err := outcome.Valid(); err != nil {
		return propagated{}, Invalid{fmt.Errorf("route %s: %w", name, err)}
	}
	for i := range outcome.Lanes {
		outcome.Lanes[i].Samples = nil // judged; 3000 routes of them fill the memory
	}
	p.seize(outcome)
	route := propagated{name: name, at: t0, answered: answered, outcome: outcome, status: -1}
	if at, ok := p.status.accepted(ctx, name, t0.Add(p.Values.Duration("limit"))); ok {
		route.status = at.Sub(t0)
	}
	if p.due(i) {
		route.config = p.config.read(ctx, name)
	}
	return route, nil
}

// seize takes evidence while the first route that is broken is there to see.
func (p *propagation) seize(outcome *probe.Outcome) {
	if len(outcome.Censored()) > 0 {
		p.Broken("never-served")
	}
	errors := outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
	if errors.ErrorCount() > 0 {
		p.Broken("errors")
	}
	if slices.ContainsFunc(outcome.Lanes, func(l probe.Lane) bool { return len(l.Misrouted) > 0 }) {
		p.Broken("misrouted")
	}
}

// due spreads the configuration checks evenly over the routes.
func (p *propagation) due(i int) bool {
	want, total := p.Values.Int("configChecks"), p.Values.Int("routes")
	if want == 0 || p.checks*total > i*want {
		return false
	}
	p.checks++
	return true
}
