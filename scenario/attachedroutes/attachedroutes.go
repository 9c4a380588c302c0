// Package attachedroutes asks how fast and how truly the status of a Gateway
// counts the routes of each of its listeners.
package attachedroutes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed attachedroute.yaml
var attachedManifest string

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "attached-routes",
		Title:    "Attached routes",
		Question: "How fast and how truly does the Gateway's status count its routes, for every listener, up and down, and how many status writes does that take?",
		Method: "All routes are created at once by a few parallel writers, each attached to every listener through a host name of its own there; " +
			"when the count of every listener is right and has stayed right for a while, every route is asked once and all are deleted. Every version of the Gateway's status is " +
			"watched. Times count from the sending of the first write; beside them stand the residuals that published benchmarks print: the time " +
			"since the last write was answered. While all are there, single routes come on top and go again. Status writes and who made them " +
			"come from the API server's audit log. With isolation joined, each route names the Gateway of every implementation of the run, " +
			"and each of them is watched by a clock of its own.",
		Headline: []string{"setup", "teardown", "accepted", "gateway-writes", "route-writes"},
	},
	Joins: true,
	Parameters: []scenario.Parameter{
		{Name: "routes", Default: 1000, Min: 1, Max: 40000, Help: "routes to attach"},
		{Name: "listeners", Default: 2, Min: 1, Max: 16, Help: "listeners of the Gateway; each route attaches to all of them"},
		{Name: "writers", Default: 8, Min: 1, Max: 256, Help: "writes under way at once"},
		{Name: "limit", Default: 5 * time.Minute, Min: float64(time.Second), Max: float64(2 * time.Hour), Help: "how long the counts are waited for, each way"},
		{Name: "listenerSets", Default: 0, Min: 0, Max: 15, Help: "ListenerSets beside the Gateway's own listeners; each route attaches to them too"},
		{Name: "setListeners", Default: 2, Min: 1, Max: 15, Help: "listeners of each ListenerSet"},
		{Name: "increments", Default: 5, Min: 0, Max: 1000, Help: "how often a single route comes on top of all others and goes again"},
		{Name: "hold", Default: 3 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long a right count must stay right"},
	},
	Check: func(v map[string]any) []error {
		return slices.Concat(scenario.Shorter(v, "hold", "limit"), checkListeners(v))
	},
	Writes: func(v scenario.Values) []scenario.Write {
		routes := v.Int("routes") + v.Int("increments")
		all := []scenario.Write{{Verb: "create", Kind: "Namespace", Count: 1}, {Verb: "create", Kind: "Deployment", Count: 1}, {Verb: "create", Kind: "Service", Count: 1}, {Verb: "create", Kind: "Gateway", Count: 1}}
		if sets := v.Int("listenerSets"); sets > 0 {
			all = append(all, scenario.Write{Verb: "change", Kind: "Gateway", Count: 1}, scenario.Write{Verb: "create", Kind: "ListenerSet", Count: sets})
		}
		return append(all, scenario.Write{Verb: "create", Kind: "HTTPRoute", Count: routes}, scenario.Write{Verb: "delete", Kind: "HTTPRoute", Count: routes}, scenario.Write{Verb: "delete", Kind: "Namespace", Count: 1})
	},
	Estimate: func(v scenario.Values) time.Duration {
		return 30*time.Second + 2*v.Duration("hold") + time.Duration(v.Int("routes"))*40*time.Millisecond +
			time.Duration(v.Int("increments"))*2*(singleHold+200*time.Millisecond)
	},
	Run: func(ctx context.Context, t *scenario.Trial) error { return (&attachment{Trial: t}).run(ctx) },
}

// attachment is one trial of attached-routes.
type attachment struct {
	*scenario.Trial
	listeners []scenario.Listener
	counts    *attachedCounts
	status    *scenario.RouteStatus
	up, down  phase
	swept     scenario.Sweep
	singles   []single
	rivals    []*rival
	// entries are by controller, when all routes were there.
	entries map[string]entryCount
}

// phase is one direction: all routes created, or all deleted.
type phase struct {
	want int
	// sent and answered are of each write, in the order of the routes.
	sent, answered []time.Time
	// reached is when each listener's count became right for good; zero where
	// it did not within the limit.
	reached []time.Time
}

func (p *phase) began() time.Time {
	first := p.sent[0]
	for _, at := range p.sent {
		if at.Before(first) {
			first = at
		}
	}
	return first
}

// lastAnswered is when the last write was answered.
func (p *phase) lastAnswered() time.Time { return latest(p.answered) }

// complete is when every listener's count was right, or zero.
func (p *phase) complete() time.Time { return complete(p.reached) }

// complete is the last of the instants, or zero where one is.
func complete(instants []time.Time) time.Time {
	for _, at := range instants {
		if at.IsZero() {
			return time.Time{}
		}
	}
	return latest(instants)
}

func latest(instants []time.Time) time.Time {
	var last time.Time
	for _, at := range instants {
		if at.After(last) {
			last = at
		}
	}
	return last
}

func (a *attachment) run(ctx context.Context) error {
	for i := range a.Values.Int("listeners") {
		name := fmt.Sprintf("l%d", i)
		a.listeners = append(a.listeners, scenario.Listener{Name: name, Host: "*." + name + ".gatemark.test"})
	}
	stage, err := a.SetStage(ctx, scenario.Backends{Pods: 1}, a.listeners...)
	if err != nil {
		return err
	}
	a.listeners = append(a.listeners, setListeners(a.Values.Int("listenerSets"), a.Values.Int("setListeners"))...)
	if err := a.addSets(ctx); err != nil {
		return err
	}
	if err := a.addRivals(ctx); err != nil {
		return err
	}
	a.Begin()
	if a.counts, err = watchCounts(ctx, a.Trial, scenario.GatewayName, a.listeners); err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer a.counts.stop()
	if a.status, err = scenario.WatchRouteStatus(ctx, a.Trial, scenario.HTTPRoute, a.Target.ControllerName, 1+len(a.sets())); err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer a.status.Stop()
	defer a.stopRivals()
	if err := a.watchRivals(ctx); err != nil {
		return err
	}
	writes, err := scenario.WatchStatusWrites(ctx, a.Trial, a.controllers())
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer writes.Stop()
	watch := scenario.WatchSelf()
	defer watch.Stop()
	if err := a.cycle(ctx, stage); err != nil {
		return err
	}
	watch.Gates(a.Trial)
	a.status.Gates(a.Trial)
	a.counts.gates(a.Trial)
	a.report()
	written, err := writes.Report(ctx, a.made())
	if err != nil {
		return err
	}
	a.joinedTable(written)
	return nil
}

// made is how many routes came and went.
func (a *attachment) made() int {
	n := len(a.up.sent)
	for _, s := range a.singles {
		if s.more {
			n++
		}
	}
	return n
}

// cycle is all that routes go through.
func (a *attachment) cycle(ctx context.Context, stage *scenario.Stage) error {
	routes := a.Values.Int("routes")
	if err := a.phase(ctx, &a.up, routes, "creating", a.create); err != nil {
		return err
	}
	if a.up.complete().IsZero() {
		a.Broken("wrong-count-after-setup")
	}
	a.Progress("waiting for every route's status")
	a.status.AllCurrent(ctx, routes, a.up.lastAnswered().Add(a.Values.Duration("limit")))
	a.Progress("asking every route")
	var err error
	if a.swept, err = scenario.SweepRoutes(ctx, stage, routeHosts(routes, a.listeners)); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if a.swept.Right != a.swept.Asked {
		a.Broken("not-served")
	}
	if err := a.readEntries(ctx); err != nil {
		return err
	}
	if !a.up.complete().IsZero() { // what is on top of a wrong count tells nothing
		if err := a.oneMore(ctx); err != nil {
			return err
		}
	}
	if err := a.phase(ctx, &a.down, 0, "deleting", a.delete); err != nil {
		return err
	}
	if a.down.complete().IsZero() {
		a.Broken("wrong-count-after-teardown")
	}
	return nil
}

// phase performs all writes and waits until every listener's count is want,
// and stays so for the hold.
func (a *attachment) phase(ctx context.Context, p *phase, want int, doing string, write func(ctx context.Context, i int) error) error {
	n := a.Values.Int("routes")
	p.want = want
	p.sent, p.answered = make([]time.Time, n), make([]time.Time, n)
	a.Event(time.Now(), doing, fmt.Sprintf("%d routes", n))
	var mu sync.Mutex
	done := 0
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(a.Values.Int("writers"))
	for i := range n {
		group.Go(func() error {
			if writing.Err() != nil {
				return writing.Err()
			}
			sent := time.Now()
			if err := write(writing, i); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			p.sent[i], p.answered[i] = sent, time.Now()
			if done++; done%100 == 0 {
				a.Progress("%s routes: %d of %d", doing, done, n)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("%s routes, after %d of %d: %w", doing, done, n, err)}
	}
	a.Event(time.Now(), "last answered", "")
	a.settleAll(ctx, p)
	return ctx.Err()
}

func attachedName(i int) string { return fmt.Sprintf("route-%05d", i) }

func attachedHosts(i int, listeners []scenario.Listener) []string {
	var hosts []string
	for _, l := range listeners {
		hosts = append(hosts, fmt.Sprintf("%s.%s.gatemark.test", attachedName(i), l.Name))
	}
	return hosts
}

func routeHosts(n int, listeners []scenario.Listener) []scenario.Expectation {
	var all []scenario.Expectation
	for i := range n {
		for _, host := range attachedHosts(i, listeners) {
			all = append(all, scenario.Expectation{Host: host, Want: marker.Expect(attachedName(i), 1)})
		}
	}
	return all
}

func (a *attachment) create(ctx context.Context, i int) error {
	object, err := a.route(i)
	if err != nil {
		return err
	}
	return kube.Create(ctx, a.Kube, object)
}

func (a *attachment) delete(ctx context.Context, i int) error {
	object, err := a.route(i)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(a.Kube.Delete(ctx, object))
}

func (a *attachment) route(i int) (client.Object, error) {
	name := attachedName(i)
	objects, err := a.Render("attachedroute.yaml", attachedManifest, map[string]any{
		"Name": name, "Namespace": a.Namespace, "Parents": a.parents(),
		"Hosts": attachedHosts(i, a.listeners), "Marker": marker.Expect(name, 1).Filter(),
	})
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, errors.New("attachedroute.yaml is not one object")
	}
	return objects[0], nil
}

// A parent is what a route attaches to.
type parent struct{ Kind, Name string }

// parents are the Gateway, its ListenerSets, and the Gateways of rivals.
func (a *attachment) parents() []parent {
	all := []parent{{"Gateway", scenario.GatewayName}}
	for _, set := range a.sets() {
		all = append(all, parent{"ListenerSet", set})
	}
	for _, r := range a.rivals {
		all = append(all, parent{"Gateway", r.gateway})
	}
	return all
}
