package routechange

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// grantKinds change what a route may refer to in another namespace.
func grantKinds() []*kindOfChange {
	route := func(name string, backend changedBackend) changedRoute {
		return changedRoute{Name: name, Hosts: []string{changeHost(name)}, Rules: []changedRule{{Marker: marks(name, 1), Backends: []changedBackend{backend}}}}
	}
	local, foreign := changedBackend{Name: "echo", Weight: 1}, changedBackend{Name: "foreign", Namespace: foreignNamespace, Weight: 1}
	by := func(name, backend string) stream.Answer {
		return stream.Answer{Route: name, Generation: 1, Backends: []string{backend}}
	}
	feature := string(features.SupportReferenceGrant)
	across := routeKind(kindOfChange{name: "cross-namespace", title: "a route was sent to a Service in another namespace", feature: feature, streams: []stream.Stream{{
		Name: "the changed route", Host: changeHost("cross-namespace"), Path: "/", Before: by("cross-namespace", "echo"), After: by("cross-namespace", "foreign"),
	}}}, route("cross-namespace", local), route("cross-namespace", foreign), granted)
	// Without the grant the implementation must refuse: 5xx is right then.
	grant := &kindOfChange{name: "grant", title: "the ReferenceGrant of a route's backend was removed and restored", feature: feature, streams: []stream.Stream{{
		Name: "the route that needs the grant", Host: changeHost("grant"), Path: "/", Before: by("grant", "foreign"), After: stream.Answer{Status: 5},
	}}}
	grant.begin = func(ctx context.Context, c *changing) error {
		if err := granted(ctx, c); err != nil {
			return err
		}
		return c.put(ctx, "route", c.route(route("grant", foreign)))
	}
	grant.write = func(ctx context.Context, c *changing, forward bool) error {
		if forward {
			return c.drop(ctx, "grant", c.grant())
		}
		return c.put(ctx, "grant", c.grant())
	}
	return []*kindOfChange{across, grant}
}

func (c *changing) grant() map[string]any {
	return map[string]any{"Namespace": c.foreign(), "From": c.Namespace, "Kind": scenario.RouteOf(c.Values).Kind}
}

// granted makes the second namespace, a backend there, and the grant.
func granted(ctx context.Context, c *changing) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.foreign()}}
	kube.Own(ns, c.RunID, c.Result.ID)
	if err := c.Kube.Create(ctx, ns); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create %s: %w", kube.Describe(ns), err)
	}
	if err := c.put(ctx, "grant", c.grant()); err != nil {
		return err
	}
	return c.backend(ctx, "foreign", c.foreign(), 1)
}

// removeForeign removes the second namespace, if there is one.
func (c *changing) removeForeign(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.foreign()}}
	if err := c.Kube.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
		return scenario.Invalid{Reason: fmt.Errorf("delete %s: %w", kube.Describe(ns), err)}
	}
	ctx, cancel := context.WithTimeout(ctx, podsLimit)
	defer cancel()
	if err := kube.WaitGone[corev1.Namespace](ctx, c.Kube, client.ObjectKeyFromObject(ns)); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

// listenerKinds change the Gateway, or what it refers to.
func listenerKinds() []*kindOfChange { return []*kindOfChange{listenerKind(), certificateKind()} }

// listenerKind adds a listener to the port that all share, and removes it. Its
// route is there all the time.
func listenerKind() *kindOfChange {
	host := changeHost("added-listener")
	k := &kindOfChange{name: "listener", title: "a listener was added to the Gateway and removed", streams: []stream.Stream{{
		Name: "the listener that comes and goes", Host: host, Path: "/", Before: stream.Answer{Status: 404}, After: stream.Answer{Route: "listener", Generation: 1},
	}}}
	k.begin = func(ctx context.Context, c *changing) error {
		return c.put(ctx, "route", c.route(changedRoute{
			Name: "listener", Listener: "added", Hosts: []string{host},
			Rules: []changedRule{{Marker: marks("listener", 1), Backends: sendTo("echo")}},
		}))
	}
	k.write = func(ctx context.Context, c *changing, forward bool) error {
		if forward {
			return c.setListeners(ctx, changedListener{Name: "added", Host: host, Port: scenario.ListenerPort})
		}
		return c.setListeners(ctx)
	}
	k.end = func(ctx context.Context, c *changing) error { return c.setListeners(ctx) }
	return k
}

// setListeners gives the Gateway its plain listener and those.
func (c *changing) setListeners(ctx context.Context, more ...changedListener) error {
	return c.put(ctx, "gateway", map[string]any{
		"Name": scenario.GatewayName, "Namespace": c.Namespace, "Class": c.Target.GatewayClass,
		"Listeners": append([]changedListener{{Name: "http", Port: scenario.ListenerPort}}, more...),
	})
}

// certificateKind puts another certificate into a listener's Secret. Only new
// connections can show it: open ones keep theirs.
func certificateKind() *kindOfChange {
	const name = "certificate"
	served := stream.Answer{Route: name, Generation: 1}
	k := &kindOfChange{name: name, title: "a listener's certificate was rotated", streams: []stream.Stream{{
		Name: "the listener's route", Host: changeHost(name), Path: "/", Port: scenario.SecurePort, Secure: true, Before: served, After: served,
	}}}
	secret := func(c *changing, forward bool) map[string]any {
		pair := c.pairs[stateNumber(forward)]
		return map[string]any{"Name": name, "Namespace": c.Namespace, "Certificate": pair.Certificate, "Key": pair.Key}
	}
	k.begin = func(ctx context.Context, c *changing) error {
		for i := range c.pairs {
			p, err := scenario.NewKeyPair(changeHost(name))
			if err != nil {
				return err
			}
			c.pairs[i] = p
		}
		if err := c.put(ctx, "secret", secret(c, false)); err != nil {
			return err
		}
		if err := c.setListeners(ctx, changedListener{Name: "https", Host: changeHost(name), Port: scenario.SecurePort, Secret: name}); err != nil {
			return err
		}
		return c.put(ctx, "route", c.route(changedRoute{
			Name: name, Listener: "https", Hosts: []string{changeHost(name)},
			Rules: []changedRule{{Marker: marks(name, 1), Backends: sendTo("echo")}},
		}))
	}
	k.write = func(ctx context.Context, c *changing, forward bool) error {
		return c.put(ctx, "secret", secret(c, forward))
	}
	k.expect = func(_ context.Context, c *changing, forward bool) (before, after stream.Answer, err error) {
		before, after = served, served
		before.Certificate, after.Certificate = c.pairs[stateNumber(!forward)].Serial, c.pairs[stateNumber(forward)].Serial
		return before, after, nil
	}
	k.end = func(ctx context.Context, c *changing) error { return c.setListeners(ctx) }
	return k
}

// stateNumber is the place of the state before, or after, a change forward.
func stateNumber(forward bool) int {
	if forward {
		return 1
	}
	return 0
}
