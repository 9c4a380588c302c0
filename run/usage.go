package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/gatemark/gatemark/measure/scrape"
	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/scenario"
)

// The roles between which a trial's use of resources is divided. Each other
// implementation has two of its own. What is left is usage.Rest.
const (
	controlPlane = scenario.ControlPlaneRole
	dataPlane    = scenario.DataPlaneRole
	kubernetes   = scenario.KubernetesRole
	ours         = scenario.OurRole
)

// edgeLimit bounds how long the readings at a window's edge may take.
const edgeLimit = 10 * time.Second

// A consumption is what is observed of a trial's use of resources, from the
// beginning of its measurement to its end.
type consumption struct {
	trial    *scenario.Trial
	kubelets bool
	runner   string          // the runner's namespace
	observer *usage.Observer // nil where it is off
	scraper  *scrape.Scraper // nil where it is off
	planes   []plane         // in the order in which they are tried

	edges sync.WaitGroup
	from  time.Time
}

// A plane is pods of an implementation.
type plane struct {
	role      string
	namespace string // empty for all
	selector  labels.Selector
	metrics   *scenario.Metrics
}

// observeUse begins to observe. Of what the plan has off there is nothing.
func (e *Executor) observeUse(ctx context.Context, t *scenario.Trial) (*consumption, error) {
	c := &consumption{trial: t, kubelets: e.Config.Kubelets, runner: e.Config.Namespace}
	observe := e.Config.Plan.Observe
	if observe.UsageEvery() == 0 && observe.MetricsEvery() == 0 {
		return c, nil
	}
	var err error
	if c.planes, err = planesOf(t); err != nil {
		return nil, err
	}
	if observe.UsageEvery() > 0 {
		t.Progress("waiting for the samplers")
		c.observer, err = usage.Start(ctx, usage.Options{Kube: e.Kube, Namespace: e.Config.Namespace, Token: e.Token, Kubelets: c.kubelets})
		if err != nil {
			return nil, err
		}
	}
	if every := observe.MetricsEvery(); every > 0 && len(c.targets()) > 0 {
		if c.scraper, err = scrape.Start(ctx, scrape.Options{Kube: e.Kube, Targets: c.targets(), Interval: every}); err != nil {
			c.close()
			return nil, err
		}
	}
	t.Begun = func(at time.Time) { c.begin(ctx, at) }
	if c.observer != nil {
		t.Meter = &meter{c.observer, c.role}
	}
	return c, nil
}

// A meter lets a scenario look at windows of its own.
type meter struct {
	observer *usage.Observer
	role     func(usage.Member) string
}

// Edge implements scenario.Meter. What fails is seen as readings that are
// missing.
func (m *meter) Edge(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, edgeLimit)
	defer cancel()
	_ = m.observer.Edge(ctx)
}

// Window implements scenario.Meter.
func (m *meter) Window(from, to time.Time) *usage.Window { return m.observer.Window(from, to, m.role) }

// begin has everything read, beside the scenario, which goes on.
func (c *consumption) begin(ctx context.Context, at time.Time) {
	c.from = at
	c.edges.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, edgeLimit)
		defer cancel()
		c.edge(ctx)
	})
}

// edge has everything read. What fails is seen as readings that are missing.
func (c *consumption) edge(ctx context.Context) {
	var both sync.WaitGroup
	if c.observer != nil {
		both.Go(func() { _ = c.observer.Edge(ctx) })
	}
	if c.scraper != nil {
		both.Go(func() { c.scraper.Now(ctx) })
	}
	both.Wait()
}

// end ends the window, and reports.
func (c *consumption) end(ctx context.Context) {
	if c.observer == nil && c.scraper == nil {
		return
	}
	defer c.close()
	to := time.Now()
	ctx, cancel := context.WithTimeout(ctx, edgeLimit)
	defer cancel()
	c.edges.Wait()
	c.edge(ctx)
	if !to.After(c.from) || c.from.IsZero() {
		return // nothing was measured
	}
	if c.observer != nil {
		c.reportUse(c.observer.Window(c.from, to, c.role))
	}
	if c.scraper != nil {
		c.reportScrapes(c.scraper.Stop(), c.from, time.Now())
	}
}

// close ends what still observes. It may be called again.
func (c *consumption) close() {
	c.edges.Wait()
	c.trial.Begun, c.trial.Meter = nil, nil
	if c.observer != nil {
		c.observer.Close()
		c.observer = nil
	}
	if c.scraper != nil {
		c.scraper.Stop()
		c.scraper = nil
	}
}

// planesOf finds the planes of every implementation, that under test first.
func planesOf(t *scenario.Trial) ([]plane, error) {
	data, err := t.DataPlane()
	if err != nil {
		return nil, err
	}
	var all []plane
	add := func(role string, s scenario.Selector, metrics *scenario.Metrics) error {
		p, err := newPlane(role, s)
		p.metrics = metrics
		all = append(all, p)
		return err
	}
	control, err := t.ControlPlanes()
	if err != nil {
		return nil, err
	}
	endpoints := []*scenario.Metrics{t.Target.ControlPlaneMetrics, t.Target.GatewayControlPlaneMetrics}
	for i, s := range control {
		if err := add(controlPlane, s, endpoints[i]); err != nil {
			return nil, err
		}
	}
	if err := add(dataPlane, data, t.Target.DataPlaneMetrics); err != nil {
		return nil, err
	}
	for _, other := range t.Others {
		name := otherRole(other)
		if err := add(name+"-"+controlPlane, other.ControlPlane, nil); err != nil {
			return nil, err
		}
		if own := other.GatewayControlPlane; own != nil {
			if err := add(name+"-"+controlPlane, *own, nil); err != nil {
				return nil, err
			}
		}
		if err := add(name+"-"+dataPlane, other.DataPlane, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// otherRole begins the roles of an implementation that is not under test.
func otherRole(t scenario.Target) string {
	return "other-" + scenario.Label(t.Treatment)
}

// newPlane reads a selector. Where that of a data plane names the Gateway, which
// is not ours, any Gateway's pods are meant.
func newPlane(role string, s scenario.Selector) (plane, error) {
	p := plane{role: role, namespace: s.Namespace, selector: labels.NewSelector()}
	if strings.Contains(s.Namespace, "{{") {
		p.namespace = ""
	}
	for part := range strings.SplitSeq(s.Labels, ",") {
		key, value, _ := strings.Cut(part, "=")
		operator, values := selection.Equals, []string{value}
		if strings.Contains(value, "{{") {
			operator, values = selection.Exists, nil
		}
		r, err := labels.NewRequirement(key, operator, values)
		if err != nil {
			return p, fmt.Errorf("selector of the %s: %w", role, err)
		}
		p.selector = p.selector.Add(*r)
	}
	return p, nil
}

// components are cgroups of what makes a node a part of a cluster. A pod of
// Kubernetes' own is known by its namespace.
var components = map[string]bool{
	"etcd": true, "kube-apiserver": true, "kube-controller-manager": true, "kube-scheduler": true, "kube-proxy": true, "kubelet": true,
	"coredns": true, "metrics-server": true,
	"containerd": true, "crio": true, "docker": true, "runtime": true, // as the kubelet's statistics call whichever it is
}

// systemNamespace is where Kubernetes' own pods are.
const systemNamespace = "kube-system"

// role tells what a member of the cluster is in this trial.
func (c *consumption) role(m usage.Member) string {
	if m.Pod == nil {
		if components[m.Name] {
			return kubernetes
		}
		return ""
	}
	for _, p := range c.planes {
		if (p.namespace == "" || p.namespace == m.Pod.Namespace) && m.Pod.Namespace != "" && p.selector.Matches(labels.Set(m.Pod.Labels)) {
			return p.role
		}
	}
	switch m.Pod.Namespace {
	case c.runner, c.trial.Namespace:
		return ours
	case systemNamespace:
		return kubernetes
	}
	return ""
}

// targets are what is scraped: the planes under test.
func (c *consumption) targets() []scrape.Target {
	var all []scrape.Target
	for _, p := range c.planes {
		if p.metrics != nil {
			all = append(all, scrape.Target{
				Role: p.role, Namespace: p.namespace, Selector: p.selector.String(), Port: p.metrics.Port, Path: p.metrics.Path,
			})
		}
	}
	return all
}
