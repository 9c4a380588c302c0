package routechange

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed routechange.yaml
var routeChangeManifest string

// What routechange.yaml is filled with.
type (
	changedRoute struct {
		// Of is the kind of route, Version that of the Gateway API.
		Of                       *scenario.Route
		Version                  string
		Name, Namespace, Gateway string
		// Listener is the one to attach to; empty for all.
		Listener string
		Hosts    []string
		Rules    []changedRule
	}
	changedRule struct {
		Path     string
		Marker   [][2]string
		Rewrite  string
		Timeout  string
		Retries  int
		Backends []changedBackend
	}
	changedBackend struct {
		// Namespace is empty for the route's own, Port 0 for the one that routes of
		// the kind are sent to.
		Name, Namespace string
		Port, Weight    int
	}
	changedListener struct {
		Name, Host, Secret string
		Port               int
	}
	changedDeployment struct {
		Name, Namespace, EchoImage string
		Replicas                   int
	}
)

// object renders a template of routechange.yaml.
func object(t *scenario.Trial, name string, data any) (*unstructured.Unstructured, error) {
	objects, err := t.Render("routechange.yaml", routeChangeManifest+"{{template \""+name+"\" .}}\n", data)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("template %s makes %d objects", name, len(objects))
	}
	return objects[0], nil
}

// staying are the kinds of objects that stay until the trial ends. The Gateway
// is the stage's, and pods that end would be in the way of the next kind.
var staying = []string{"Gateway", "Deployment", "Service"}

// put makes an object be as a template has it, with one write.
func (c *changing) put(ctx context.Context, template string, data any) error {
	object, err := object(c.Trial, template, data)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(c.made, func(o *unstructured.Unstructured) bool { return sameObject(o, object) })
	if !known && !slices.Contains(staying, object.GetKind()) {
		c.made = append(c.made, object)
	}
	switch {
	case object.GetKind() != "Secret": // which the runner may not patch: the answer would show what it held
		return kube.Apply(ctx, c.Kube, object)
	case !known:
		return kube.Create(ctx, c.Kube, client.Object(object))
	}
	if err := c.Kube.Update(ctx, object); err != nil {
		return fmt.Errorf("update %s: %w", kube.Describe(object), err)
	}
	return nil
}

// drop deletes such an object.
func (c *changing) drop(ctx context.Context, template string, data any) error {
	object, err := object(c.Trial, template, data)
	if err != nil {
		return err
	}
	if err := c.Kube.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", kube.Describe(object), err)
	}
	return nil
}

func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GetKind() == b.GetKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// clear deletes what the kind has made and does not stay, the last first.
func (c *changing) clear(ctx context.Context) error {
	for _, object := range slices.Backward(c.made) {
		if err := c.Kube.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", kube.Describe(object), err)
		}
	}
	c.made = nil
	return nil
}

// route is a route of the trial's Gateway.
func (c *changing) route(r changedRoute) changedRoute {
	r.Of, r.Version, r.Namespace, r.Gateway = scenario.RouteOf(c.Values), c.RouteVersion(), c.Namespace, scenario.GatewayName
	rules := slices.Clone(r.Rules)
	for i := range rules {
		rules[i].Backends = slices.Clone(rules[i].Backends)
		for j := range rules[i].Backends {
			b := &rules[i].Backends[j]
			if b.Namespace == foreignNamespace {
				b.Namespace = c.foreign()
			}
			if b.Port == otherPort {
				b.Port = otherPorts + r.Of.BackendPort
			}
		}
	}
	r.Rules = rules
	return r
}

// otherPort in a kind's data stands for another port of a Service that leads to
// the same pods: otherPorts above the first.
const otherPort, otherPorts = -1, 1000

// foreignNamespace in a kind's data stands for the trial's second namespace.
const foreignNamespace = "foreign"

func (c *changing) foreign() string { return c.Namespace + "-" + foreignNamespace }

// marks are the filters of a route in a generation.
func marks(route string, generation int64) [][2]string {
	return marker.Expect(route, generation).Filter()
}

// sendTo are the backends of a rule that sends everything to one.
func sendTo(backend string) []changedBackend { return []changedBackend{{Name: backend, Weight: 1}} }
