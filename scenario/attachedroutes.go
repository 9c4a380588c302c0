package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/result"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var attachedRoutes = &Scenario{
	Scenario: result.Scenario{
		Name:     "attached-routes",
		Title:    "Attached routes",
		Question: "How fast and how truly does the Gateway's status count its routes, for every listener, up and down, and how many status writes does that take?",
		Method: "All routes are created at once by a few parallel writers, each attached to every listener through a host name of its own there; " +
			"when the count of every listener is right and has stayed right for a while, every route is asked once and all are deleted. Every version of the Gateway's status is " +
			"watched. Times count from the sending of the first write; beside them stand the residuals that published benchmarks print: the time " +
			"since the last write was answered. Status writes and who made them come from the API server's audit log.",
		Headline: []string{"setup", "teardown", "accepted", "gateway-writes", "route-writes"},
	},
	Parameters: []Parameter{
		{Name: "routes", Default: 1000, Min: 1, Max: 40000, Help: "routes to attach"},
		{Name: "listeners", Default: 2, Min: 1, Max: 16, Help: "listeners of the Gateway; each route attaches to all of them"},
		{Name: "writers", Default: 8, Min: 1, Max: 256, Help: "writes under way at once"},
		{Name: "limit", Default: 5 * time.Minute, Min: float64(time.Second), Max: float64(2 * time.Hour), Help: "how long the counts are waited for, each way"},
		{Name: "hold", Default: 3 * time.Second, Min: float64(100 * time.Millisecond), Max: float64(10 * time.Minute), Help: "how long a right count must stay right"},
	},
	Check: func(v map[string]any) []error { return shorter(v, "hold", "limit") },
	Writes: func(v Values) []Write {
		return []Write{
			{"create", "Namespace", 1}, {"create", "Deployment", 1}, {"create", "Service", 1}, {"create", "Gateway", 1},
			{"create", "HTTPRoute", v.Int("routes")}, {"delete", "HTTPRoute", v.Int("routes")}, {"delete", "Namespace", 1},
		}
	},
	Estimate: func(v Values) time.Duration {
		return 30*time.Second + 2*v.Duration("hold") + time.Duration(v.Int("routes"))*40*time.Millisecond
	},
	Run: func(ctx context.Context, t *Trial) error { return (&attachment{Trial: t}).run(ctx) },
}

// attachment is one trial of attached-routes.
type attachment struct {
	*Trial
	listeners []listener
	counts    *attachedCounts
	status    *routeStatus
	up, down  phase
	swept     sweep
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
func (p *phase) complete() time.Time {
	for _, at := range p.reached {
		if at.IsZero() {
			return time.Time{}
		}
	}
	return latest(p.reached)
}

func sorted(instants []time.Time) []time.Time {
	all := slices.Clone(instants)
	slices.SortFunc(all, time.Time.Compare)
	return all
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
		a.listeners = append(a.listeners, listener{Name: name, Host: "*." + name + ".gatemark.test"})
	}
	stage, err := a.setStage(ctx, 1, a.listeners...)
	if err != nil {
		return err
	}
	if a.counts, err = watchCounts(ctx, a.Trial, a.listeners); err != nil {
		return Invalid{err}
	}
	defer a.counts.stop()
	if a.status, err = watchRouteStatus(ctx, a.Trial); err != nil {
		return Invalid{err}
	}
	defer a.status.stop()
	writes, err := watchStatusWrites(ctx, a.Trial)
	if err != nil {
		return Invalid{err}
	}
	defer writes.stop()
	watch := startSelfWatch()
	routes := a.Values.Int("routes")
	if err := a.phase(ctx, &a.up, routes, "creating", a.create); err != nil {
		return err
	}
	if a.up.complete().IsZero() {
		a.Broken("wrong-count-after-setup")
	}
	a.Progress("asking every route")
	if a.swept, err = sweepRoutes(ctx, stage, routeHosts(routes, a.listeners)); err != nil {
		return Invalid{err}
	}
	if a.swept.right != a.swept.asked {
		a.Broken("not-served")
	}
	if err := a.phase(ctx, &a.down, 0, "deleting", a.delete); err != nil {
		return err
	}
	if a.down.complete().IsZero() {
		a.Broken("wrong-count-after-teardown")
	}
	watch.gates(a.Trial)
	a.status.gates(a.Trial)
	a.counts.gates(a.Trial)
	a.report()
	return writes.report(ctx, routes)
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
		return Invalid{fmt.Errorf("%s routes, after %d of %d: %w", doing, done, n, err)}
	}
	a.Event(time.Now(), "last answered", "")
	p.reached = a.counts.settle(ctx, want, a.Values.Duration("limit"), a.Values.Duration("hold"), a.Progress)
	return ctx.Err()
}

func attachedName(i int) string { return fmt.Sprintf("route-%05d", i) }

func attachedHosts(i int, listeners []listener) []string {
	var hosts []string
	for _, l := range listeners {
		hosts = append(hosts, fmt.Sprintf("%s.%s.gatemark.test", attachedName(i), l.Name))
	}
	return hosts
}

func routeHosts(n int, listeners []listener) []expectation {
	var all []expectation
	for i := range n {
		for _, host := range attachedHosts(i, listeners) {
			all = append(all, expectation{host, marker.Expect(attachedName(i), 1)})
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
	objects, err := a.render("route.yaml", routeManifest, map[string]any{
		"Name": name, "Namespace": a.Namespace, "Gateway": GatewayName,
		"Hosts": attachedHosts(i, a.listeners), "Marker": marker.Expect(name, 1).Filter(),
	})
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, errors.New("route.yaml is not one object")
	}
	return objects[0], nil
}
