package detection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/inprocess"
)

// A Bench is truth at work on a cluster that runs no pods, for one trial after
// another.
type Bench struct {
	kube     *kube.Client
	auditLog string
	truth    *inprocess.Truth
	// start starts truth, with workloads or without, which it has now.
	start     func(workloads bool) (*inprocess.Truth, error)
	workloads bool
	faults    *fault.Switch
	trials    int
}

// Open starts truth with so many replicas for each Gateway. auditLog is that of
// the cluster's API server.
func Open(ctx context.Context, c *kube.Client, auditLog string, replicas int, log *slog.Logger) (*Bench, error) {
	own, err := named(ctx, c, "truth")
	if err != nil {
		return nil, err
	}
	b := &Bench{kube: c, auditLog: auditLog, faults: new(fault.Switch)}
	b.start = func(workloads bool) (*inprocess.Truth, error) {
		return inprocess.Start(ctx, own, inprocess.Options{Replicas: replicas, Faults: b.faults, Workloads: workloads, Log: log})
	}
	b.truth, err = b.start(false)
	return b, err
}

// turn starts truth anew where it is to have workloads, and has none, or the
// other way round.
func (b *Bench) turn(workloads bool) error {
	if workloads == b.workloads {
		return nil
	}
	err := b.truth.Stop()
	if err == nil {
		b.truth, err = b.start(workloads)
	}
	b.workloads = workloads
	return err
}

// Close ends truth, and returns what failed in it.
func (b *Bench) Close() error { return b.truth.Stop() }

// named is a client that the API server knows, and its audit log shows, by a
// name of its own.
func named(ctx context.Context, c *kube.Client, name string) (*kube.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: fmt.Sprintf("system:serviceaccount:%s-system:%s", name, name), Groups: []string{"system:masters"},
	}
	return kube.New(ctx, config, kube.Agent(name))
}

// A Try is what is tried.
type Try struct {
	Scenario   string
	Parameters map[string]any
	Faults     fault.Faults
	Rival      bool
	// Workloads has truth's planes be pods of Deployments.
	Workloads bool
	// Metered lets the scenario see what this process uses.
	Metered bool
}

// A Tried is a trial that was made, and what is known of it otherwise.
type Tried struct {
	*result.Trial
	// Began is the zero of the trial's clock.
	Began time.Time
	// Gateway is the trial's, namespace/name.
	Gateway string
	// Replicas are the Gateway's, and Forces what each had in force before the
	// trial's routes were removed.
	Replicas []*dataplane.Replica
	Forces   []dataplane.Force
	// Invalid are the reasons of the attempts before this one.
	Invalid []string
}

// repeats is how often an invalid trial is repeated, as in a run.
const repeats = 2

// Try makes a trial, again where it is invalid. The error is of the bench, not
// of what it measures.
func (b *Bench) Try(ctx context.Context, t Try) (*Tried, error) {
	var invalid []string
	for {
		tried, err := b.attempt(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s on truth: %w", t.Scenario, err)
		}
		tried.Invalid = invalid
		if tried.Outcome != result.Invalid || len(invalid) == repeats {
			return tried, nil
		}
		invalid = append(invalid, tried.Reason)
	}
}

// attempt makes one trial in a namespace of its own.
func (b *Bench) attempt(ctx context.Context, t Try) (*Tried, error) {
	s := question.Find(t.Scenario)
	if s == nil {
		return nil, errors.New("there is no such scenario")
	}
	values, err := resolve(s, t.Parameters)
	if err != nil {
		return nil, err
	}
	if err := b.turn(t.Workloads); err != nil {
		return nil, err
	}
	b.trials++
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("detection-%03d", b.trials)}}
	kube.Own(ns, "detection", "")
	if err := kube.Create(ctx, b.kube, ns); err != nil {
		return nil, err
	}
	stop := func() error { return nil }
	if t.Rival {
		if stop, err = b.rival(ctx, ns.Name); err != nil {
			return nil, err
		}
	}
	b.faults.Set(t.Faults)
	tried := b.run(ctx, s, values, ns.Name, t.Metered)
	b.faults.Set(fault.Faults{})
	return tried, errors.Join(ctx.Err(), stop(), b.remove(ctx, ns))
}

func (b *Bench) run(ctx context.Context, s *scenario.Scenario, values scenario.Values, namespace string, metered bool) *Tried {
	tried := &Tried{Gateway: namespace + "/" + scenario.GatewayName}
	tried.Trial = &result.Trial{SchemaVersion: result.SchemaVersion, RunID: "detection", ID: namespace, Scenario: s.Name, Started: time.Now()}
	trial := &scenario.Trial{
		Kube: b.kube, RunID: "detection", Namespace: namespace, Values: values, EchoImage: "gatemark.local/gatemark:detection",
		Target: scenario.Target{
			Treatment: "truth", GatewayClass: inprocess.Class, ControllerName: string(controlplane.Name),
			ControlPlane: scenario.Selector{Namespace: inprocess.ControlNamespace, Labels: inprocess.ControlLabels},
			DataPlane:    scenario.Selector{Namespace: "{{.Namespace}}", Labels: gatewayv1.GatewayNameLabelKey + "={{.Name}}"},
		},
		Installed: true,
		Attack:    startAttackers, AuditLog: b.auditLog, Progress: func(string, ...any) {}, Result: tried.Trial, Attachments: map[string][]byte{},
		Begun: func(at time.Time) { tried.Began = at },
	}
	if metered {
		m := startMeter(ctx)
		defer m.stop()
		trial.Meter = m
	}
	trial.Begin()
	err := s.Run(ctx, trial)
	tried.Replicas = b.truth.Replicas(tried.Gateway)
	for _, r := range tried.Replicas {
		tried.Forces = append(tried.Forces, r.Force())
	}
	tried.Outcome, tried.Reason = scenario.Outcome(err)
	if tried.Outcome == result.Failed {
		trial.Find("not-measurable", result.Broken, "the trial could not be carried out: "+tried.Reason)
	}
	for _, g := range tried.Gates {
		if g.Name == "runner-cpu" {
			continue // in this process are the gateway and the backends, too
		}
		if tried.Outcome == result.OK && !g.OK {
			tried.Outcome, tried.Reason = result.Invalid, fmt.Sprintf("gate %s: %s: %.4g %s, limit %.4g", g.Name, g.Text, g.Value, g.Unit, g.Limit)
		}
	}
	tried.Duration = time.Since(tried.Started).Seconds()
	return tried
}

// resolve lays what is set over a scenario's defaults.
func resolve(s *scenario.Scenario, set map[string]any) (scenario.Values, error) {
	values := scenario.Values{}
	for _, p := range s.Parameters {
		values[p.Name] = p.Default
		if d, ok := p.Default.(time.Duration); ok {
			values[p.Name] = d.String()
		}
	}
	for name, v := range set {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("it has no parameter %s", name)
		}
		values[name] = v
	}
	return values, nil
}

// removal bounds how long a trial's objects may take to go.
const removal = time.Minute

// remove deletes a trial's namespace, and waits until truth does not serve its
// Gateway any more. The namespace itself takes seconds longer, and disturbs
// nobody.
func (b *Bench) remove(ctx context.Context, ns *corev1.Namespace) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	var beside corev1.NamespaceList // those that the scenario made
	if err := b.kube.List(ctx, &beside, client.MatchingLabels(kube.OwnedBy("detection", ns.Name))); err != nil {
		return err
	}
	for _, each := range append(beside.Items, *ns) {
		if err := b.kube.Delete(ctx, &each); err != nil {
			return err
		}
		for len(b.truth.Replicas(each.Name+"/"+scenario.GatewayName)) > 0 {
			select {
			case <-ctx.Done():
				return fmt.Errorf("namespace %s: truth still serves its Gateway after %s", each.Name, removal)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}
