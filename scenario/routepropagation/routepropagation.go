// Package routepropagation asks how long it takes until a new, changed or
// deleted route is in force, on every replica.
package routepropagation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "route-propagation",
		Title:    "Route propagation",
		Question: "How long until a new, changed or deleted route is in force on every replica of the data plane, and do users see errors on the way?",
		Method: "Routes are created one after another; each stays. A route has a host name and a marker of its own, so an answer proves " +
			"which route in which generation served it. Every replica is asked once in each step, on a connection that is kept and on new " +
			"ones, from before the write on: it must answer 404 first. The clock starts before the write is sent. Four clocks run for each " +
			"route: API answered; status current (Accepted and ResolvedRefs true in the observed generation); first served; served for " +
			"good, which is the first right answer after the last one that was not right, on every replica and kind of connection. A route " +
			"that is not served for good within the limit is censored: it counts as slower than all that were seen. Then, with all these " +
			"routes in place, the other kinds of change take turns, each on a route of its own, measured in the same way: before the " +
			"write every replica must answer as the route was.",
		Headline: []string{"stable", "first-served", "status", "errors"},
	},
	Parameters: []scenario.Parameter{
		scenario.RouteParameter,
		{Name: "routes", Default: 100, Min: 1, Max: 40000, Help: "routes to create, one after another"},
		{Name: "step", Default: time.Duration(0), Max: float64(time.Second), Help: "shortest time between two probes of a replica on its kept connection; 0: 1 ms, or as much more as the CPUs of its node need"},
		{Name: "freshStep", Default: time.Duration(0), Max: float64(time.Second), Help: "the same on new connections, which cost both sides far more than a request; 0: 4 times as long"},
		{Name: "connections", Default: "both", OneOf: []string{"both", "kept", "new"}, Help: "kinds of connections to probe on"},
		{Name: "limit", Default: time.Minute, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long a route is waited for"},
		{Name: "settle", Default: 250 * time.Millisecond, Min: float64(10 * time.Millisecond), Max: float64(time.Minute), Help: "how long answers must stay right"},
		{Name: "backends", Default: 1, Min: 1, Max: 100, Help: "backend pods"},
		{Name: "configChecks", Default: 50, Min: 0, Max: 40000, Help: "routes whose time is held against the proxy's own configuration dump, evenly spread"},
		{Name: "shapes", Default: "host", Help: "what routes match by, in turns: all, or some of " + strings.Join(shapeNames(anyRoute), ", ")},
		{Name: "changes", Default: kindCreate, Help: "kinds of change beside " + kindCreate + ": all, or some of " + strings.Join(kindNames(anyRoute), ", ")},
		{Name: "rounds", Default: 10, Min: 1, Max: 10000, Help: "how often each kind of change but " + kindCreate + " is made"},
	},
	Check: func(v map[string]any) []error {
		r := scenario.RouteOf(v)
		return slices.Concat(tooClose(v), scenario.Shorter(v, "settle", "limit"), scenario.Lists(v, "shapes", shapeNames(r)), scenario.Lists(v, "changes", kindNames(r)), keptTLS(r, v))
	},
	Writes: propagationWrites,
	Estimate: func(v scenario.Values) time.Duration {
		each := v.Duration("settle") + 150*time.Millisecond
		changes := v.Int("rounds") * (len(v.List("changes", kindNames(scenario.RouteOf(v)))) - 1)
		return 25*time.Second + time.Duration(v.Int("routes")+changes)*each
	},
	Run: func(ctx context.Context, t *scenario.Trial) error { return (&propagation{Trial: t}).run(ctx) },
}

// propagationWrites lists what a trial writes.
func propagationWrites(v scenario.Values) []scenario.Write {
	all := []scenario.Write{
		{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "create", Kind: "Deployment", Count: 1}, {Verb: "create", Kind: "Service", Count: 1}, {Verb: "create", Kind: "Gateway", Count: 1},
		{Verb: "create", Kind: scenario.RouteOf(v).Kind, Count: v.Int("routes")}, {Verb: "delete", Kind: "Namespace", Count: 1},
	}
	if changes := v.Int("rounds") * (len(v.List("changes", kindNames(scenario.RouteOf(v)))) - 1); changes > 0 {
		all = append(all, scenario.Write{Verb: "create", Kind: "Deployment", Count: len(singleBackends)}, scenario.Write{Verb: "create", Kind: "Service", Count: len(singleBackends) + 1},
			scenario.Write{Verb: "change", Kind: scenario.RouteOf(v).Kind + " or EndpointSlice", Count: changes})
	}
	return all
}

// propagation is one trial of route-propagation.
type propagation struct {
	*scenario.Trial
	pace   pace
	prober *probe.Prober
	status *scenario.RouteStatus
	config *scenario.ConfigClock
	checks int
	routes []propagated
	// changes are those of other kinds, in the order in which they were made.
	changes []propagated
	// examples counts those that are kept, by kind.
	examples map[string]int
	// unready are the subjects of changes that were not as they had been written
	// before a change, in words.
	unready []string
}

// propagated is what was seen of one change: of a new route, where it is one of
// propagation.routes.
type propagated struct {
	kind     string
	name     string
	answered time.Duration // since t0
	at       time.Time     // t0
	outcome  *probe.Outcome
	answers  answers
	status   time.Duration // since t0; negative where not seen
	lack     string        // what the status lacked then
	// silent is set where no status tells of the change.
	silent bool
	// shape is what a new route matches by.
	shape  string
	config []scenario.ConfigInstant
	// moved is at how many lanes late probes matter.
	moved int
}

// anyRoute is the kind that has everything.
var anyRoute = scenario.RouteOf(nil)

// keptTLS: what is passed through stays with its backend, so that connections
// that are kept show no change.
func keptTLS(r *scenario.Route, v map[string]any) []error {
	if r.TLS && v["connections"] == "kept" {
		return []error{fmt.Errorf("connections: those that are kept show nothing of a %s", r.Kind)}
	}
	return nil
}

// route is the kind that is measured.
func (p *propagation) route() *scenario.Route { return scenario.RouteOf(p.Values) }

func (p *propagation) run(ctx context.Context) error {
	if err := p.FindRoute(ctx, p.route()); err != nil {
		return err
	}
	stage, err := p.SetStage(ctx, scenario.Backends{Pods: p.Values.Int("backends")}, p.route().Listener)
	if err != nil {
		return err
	}
	if err := p.findPace(ctx, stage.Replicas); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if p.prober, err = probe.New(stage.Targets(), p.options()); err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer p.prober.Close()
	if p.status, err = scenario.WatchRouteStatus(ctx, p.Trial, p.route().Kind, p.Target.ControllerName, 1); err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer p.status.Stop()
	p.config = scenario.OpenConfigClock(ctx, p.Trial, stage)
	defer p.config.Close()
	watch := scenario.WatchSelf()
	defer watch.Stop()
	if err := p.create(ctx); err != nil {
		return err
	}
	if err := p.takeTurns(ctx); err != nil {
		return err
	}
	watch.Gates(p.Trial)
	p.status.Gates(p.Trial)
	p.report()
	return nil
}

func (p *propagation) options() probe.Options {
	connections := map[string]probe.Connections{"both": probe.Both, "kept": probe.Kept, "new": probe.Fresh}[p.Values.String("connections")]
	if p.route().TLS {
		connections = probe.Fresh
	}
	return probe.Options{
		Connections: connections,
		Step:        p.pace.kept,
		FreshStep:   p.pace.fresh,
		Limit:       p.Values.Duration("limit"),
		Settle:      p.Values.Duration("settle"),
		// Where it is not granted, the gates tell whether it was needed.
		Realtime: true,
	}
}

// hopeless is after how many new routes in a row that were never served no more
// are created: each of them takes the whole limit.
const hopeless = 5

// create creates the routes.
func (p *propagation) create(ctx context.Context) error {
	total := p.Values.Int("routes")
	forms := p.Values.List("shapes", shapeNames(p.route()))
	never := 0
	for i := range total {
		p.Progress("route %d of %d", i+1, total)
		s, err := p.creation(i, forms[i%len(forms)])
		if err != nil {
			return scenario.Invalid{Reason: err}
		}
		route, err := p.one(ctx, s, scenario.OldLimit)
		if errors.Is(err, probe.ErrOtherState) {
			return scenario.Failed{Reason: err}
		}
		if err != nil {
			return fmt.Errorf("after %d of %d routes: %w", i, total, err)
		}
		if p.due(i) {
			route.config = p.config.Read(ctx, route.name)
		}
		route.shape = forms[i%len(forms)]
		p.routes = append(p.routes, route)
		if never++; len(route.outcome.Censored()) == 0 {
			never = 0
		}
		if never == hopeless && i+1 < total {
			p.Note("After %d routes in a row that were never served no more were created: %d of %d.", never, i+1, total)
			return nil
		}
	}
	return nil
}

// creation is the step that creates the i-th route.
func (p *propagation) creation(i int, shaped string) (step, error) {
	name := fmt.Sprintf("route-%05d", i)
	at := slices.IndexFunc(shapes, func(s shape) bool { return s.name == shaped })
	s, err := p.creationOf(name, shapes[at].form(name), nil)
	// Some data planes open a listener's port with its first route only.
	s.question.Old.Refused = i == 0
	return s, err
}

// errUnready is in the error of a change that could not be made because what
// was there before it was not in force.
var errUnready = errors.New("not every replica answers as it should before the change")

// one makes a change and measures until it is in force everywhere. It waits at
// most so long for the old state.
func (p *propagation) one(ctx context.Context, s step, oldLimit time.Duration) (propagated, error) {
	inquiry, err := p.prober.Ask(s.question)
	if err != nil {
		return propagated{}, scenario.Invalid{Reason: err}
	}
	defer inquiry.Stop() // does nothing after Wait
	waiting, cancel := context.WithTimeout(ctx, oldLimit)
	defer cancel()
	if err := inquiry.Old(waiting); err != nil {
		return propagated{}, scenario.Invalid{Reason: fmt.Errorf("route %s, before %s: %w: %w", s.name, s.kind, errUnready, err)}
	}
	t0 := time.Now()
	inquiry.Mark(t0)
	version, err := s.write(ctx)
	if err != nil {
		return propagated{}, scenario.Invalid{Reason: err}
	}
	answered := time.Since(t0)
	p.Changed(t0)
	outcome, err := inquiry.Wait(ctx)
	if err != nil {
		return propagated{}, scenario.Invalid{Reason: err}
	}
	if err := outcome.Valid(); err != nil {
		return propagated{}, scenario.Invalid{Reason: fmt.Errorf("route %s, %s: %w", s.name, s.kind, err)}
	}
	change := propagated{kind: s.kind, name: s.name, at: t0, answered: answered, outcome: outcome, status: -1, silent: version == nil, moved: moved(outcome), answers: answersOf(outcome)}
	p.slim(s.kind, outcome)
	p.seize(s.kind, outcome)
	if version != nil {
		if at, ok := p.status.Accepted(ctx, *version, t0.Add(p.Values.Duration("limit"))); ok {
			change.status = at.Sub(t0)
		} else {
			change.lack = p.status.Lack(s.name)
		}
	}
	return change, nil
}

// keptExamples bounds the examples of errors that are kept of a kind of change.
const keptExamples = 1000

// slim drops what has been judged: thousands of routes of it fill the memory.
func (p *propagation) slim(kind string, o *probe.Outcome) {
	if p.examples == nil {
		p.examples = map[string]int{}
	}
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		lane.Samples, lane.Origins = nil, nil
		if p.examples[kind] += len(lane.Examples); p.examples[kind] > keptExamples {
			lane.Examples = nil
		}
	}
}

// seize takes evidence while the first that is broken is there to see.
func (p *propagation) seize(kind string, outcome *probe.Outcome) {
	if len(outcome.Censored()) > 0 {
		p.Broken(map[bool]string{true: "never-served", false: "change-ignored"}[kind == kindCreate])
	}
	transition := outcome.Total(func(l *probe.Lane) *probe.Counts { return &l.Transition })
	if transition.ErrorCount() > 0 {
		p.Broken(map[bool]string{true: "errors", false: "change-errors"}[kind == kindCreate])
	}
	if kind == kindCreate && slices.ContainsFunc(outcome.Lanes, func(l probe.Lane) bool { return l.Before.ErrorCount() > 0 }) {
		p.Broken("errors-at-rest")
	}
	if slices.ContainsFunc(outcome.Lanes, func(l probe.Lane) bool { return len(l.Misrouted) > 0 }) {
		p.Broken("misrouted")
	}
}

// due spreads the configuration checks evenly over the routes. TLSRoutes stand
// in other parts of a configuration than those that are read.
func (p *propagation) due(i int) bool {
	want, total := p.Values.Int("configChecks"), p.Values.Int("routes")
	if want == 0 || p.checks*total > i*want || p.route().TLS {
		return false
	}
	p.checks++
	return true
}
