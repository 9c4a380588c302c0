// Package architecture finds out how an implementation is built, by looking at
// the cluster and by trying.
package architecture

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed architecture.yaml
var architectureManifest string

// Scenario is the question, and the procedure that answers it.
var Scenario = &scenario.Scenario{
	Scenario: result.Scenario{
		Name:     "architecture",
		Title:    "Architecture",
		Question: "What decides, what carries the traffic, what do Gateways share, and are those of different namespaces kept apart?",
		Method: "Nothing of it is written down beforehand. A Gateway is made and asked without a pause from the moment it has an address, so that its status can be held " +
			"against its answers. A second one follows in another namespace, with the same port and host; each is asked for its own route, for the host that both have, and for " +
			"the other one's route. The first one then gets a listener on a port that no default configuration has. The data plane is what stands behind the address in a " +
			"Gateway's status; pods, their privileges, and the roles of their service accounts are read from the cluster.",
		Headline: []string{"programmed", "answered", "programmed-lead"},
	},
	Parameters: []scenario.Parameter{
		{Name: "port", Default: 18080, Min: 1024, Max: 65535, Help: "listener port that no default configuration has"},
		{Name: "requests", Default: 20, Min: 1, Max: 10000, Help: "requests for each question that is put to a Gateway, over 2 s"},
		{Name: "limit", Default: time.Minute, Min: float64(time.Second), Max: float64(time.Hour), Help: "how long each thing is waited for"},
		{Name: "ask", Default: "address", OneOf: []string{"address", "replicas"}, Help: "where Gateways are asked: at the address in their status, as users do, or each replica"},
	},
	Writes: func(scenario.Values) []scenario.Write {
		return []scenario.Write{
			{Verb: "create", Kind: "Namespace", Count: 2}, {Verb: "create", Kind: "Gateway", Count: 2}, {Verb: "create", Kind: "HTTPRoute", Count: 2}, {Verb: "update", Kind: "Gateway", Count: 2}, {Verb: "delete", Kind: "Namespace", Count: 2},
		}
	},
	Estimate: func(scenario.Values) time.Duration { return 45 * time.Second },
	Run:      func(ctx context.Context, t *scenario.Trial) error { return (&dissection{Trial: t}).run(ctx) },
}

// A dissection is one trial of architecture.
type dissection struct {
	*scenario.Trial
	anatomy
}

// An anatomy is what was seen of an implementation: all that the answers rest
// on.
type anatomy struct {
	class         classSeen
	first, second examined
	control       []podSeen
	port          portTried
	// rights are by service account, namespace/name.
	rights map[string][]permission
}

func (d *dissection) run(ctx context.Context) error {
	if err := d.seeClass(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	before, err := d.inventory(ctx)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	watch := scenario.WatchSelf()
	defer watch.Stop()
	d.first = examined{mark: "first", namespace: d.Namespace}
	d.second = examined{mark: "second", namespace: d.Namespace + "-2"}
	if err := d.raiseFirst(ctx); err != nil {
		return err
	}
	if err := d.raiseSecond(ctx); err != nil {
		return err
	}
	for _, g := range []*examined{&d.first, &d.second} {
		if err := d.findDataPlane(ctx, g, before); err != nil {
			return scenario.Invalid{Reason: err}
		}
	}
	if err := d.interrogate(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if d.bleeds() {
		d.Broken("gateways-bleed")
	}
	if err := d.tryPort(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := d.seeControlPlane(ctx); err != nil {
		return scenario.Invalid{Reason: err}
	}
	watch.ClockGate(d.Trial)
	d.report()
	return nil
}

// raiseFirst makes the trial's own Gateway. Without one that serves there is
// nothing to look at.
func (d *dissection) raiseFirst(ctx context.Context) error {
	d.Progress("making a Gateway")
	if err := d.raise(ctx, &d.first); err != nil {
		return scenario.Invalid{Reason: err}
	}
	g := &d.first
	switch {
	case g.programmed.IsZero():
		return scenario.Failed{Reason: fmt.Errorf("gateway %s/%s after %s: %s", g.namespace, scenario.GatewayName, d.Values.Duration("limit"), g.lacked)}
	case g.served.IsZero():
		return scenario.Failed{Reason: fmt.Errorf("gateway %s/%s says that it is programmed, and its route was not served within %s: %s", g.namespace, scenario.GatewayName, d.Values.Duration("limit"), g.lacked)}
	}
	return nil
}

// raiseSecond makes another one in a namespace of its own, which goes with the
// trial's. That it is refused is an answer.
func (d *dissection) raiseSecond(ctx context.Context) error {
	d.Progress("making a second Gateway, in another namespace")
	select { // of two that want the same, the older one has it
	case <-ctx.Done():
		return scenario.Invalid{Reason: ctx.Err()}
	case <-time.After(time.Until(d.first.created.Add(ageStep))):
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.second.namespace}}
	kube.Own(ns, d.RunID, d.Result.ID)
	if err := kube.Create(ctx, d.Kube, ns); err != nil {
		return scenario.Invalid{Reason: err}
	}
	if err := d.raise(ctx, &d.second); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// ageStep makes one object older than another: their ages are in whole seconds.
const ageStep = 1100 * time.Millisecond

// A classSeen is where a GatewayClass came from.
type classSeen struct {
	preCreated bool
	words      string
}

func (d *dissection) seeClass(ctx context.Context) error {
	var class gatewayv1.GatewayClass
	if err := d.Kube.Get(ctx, client.ObjectKey{Name: d.Target.GatewayClass}, &class); err != nil {
		return fmt.Errorf("GatewayClass %s: %w", d.Target.GatewayClass, err)
	}
	d.class = originOf(&class)
	return nil
}

// helmRelease is the annotation that Helm gives to what a chart has.
const helmRelease = "meta.helm.sh/release-name"

// originOf tells who made a GatewayClass: gatemark, as a user has to who is
// brought none, or the installation.
func originOf(class *gatewayv1.GatewayClass) classSeen {
	maker := ""
	for _, entry := range class.ManagedFields {
		if entry.Subresource == "" {
			maker = entry.Manager
			break
		}
	}
	release := class.Annotations[helmRelease]
	switch {
	case release != "":
		return classSeen{true, fmt.Sprintf("GatewayClass %s came with release %s", class.Name, release)}
	case kube.Owned(class):
		return classSeen{false, fmt.Sprintf("GatewayClass %s was created by gatemark: the installation brought none", class.Name)}
	default:
		return classSeen{true, fmt.Sprintf("GatewayClass %s was there, made by %q", class.Name, maker)}
	}
}

// timedOut tells a wait that ended without what it was for from one that could
// not be carried out.
func timedOut(err error) (progress string, ok bool) {
	var waited *kube.WaitError
	if errors.As(err, &waited) && errors.Is(err, context.DeadlineExceeded) {
		return waited.Progress, true
	}
	return "", false
}
