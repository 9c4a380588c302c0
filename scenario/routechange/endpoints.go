package routechange

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// podsLimit bounds how long a backend's pods may take to be ready.
const podsLimit = 2 * time.Minute

// backend makes a Deployment and its Service, and waits until its pods are
// ready.
func (c *changing) backend(ctx context.Context, name, namespace string, replicas int) error {
	if err := c.put(ctx, "service", map[string]any{"Name": name, "App": name, "Namespace": namespace}); err != nil {
		return err
	}
	if err := c.scale(ctx, name, namespace, replicas); err != nil {
		return err
	}
	_, err := c.pods(ctx, name, namespace, replicas)
	return err
}

func (c *changing) scale(ctx context.Context, name, namespace string, replicas int) error {
	return c.put(ctx, "backend", changedDeployment{Name: name, Namespace: namespace, EchoImage: c.EchoImage, Replicas: replicas})
}

// pods waits until a Deployment has exactly so many pods, all ready, and names
// them.
func (c *changing) pods(ctx context.Context, name, namespace string, want int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, podsLimit)
	defer cancel()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if _, err := kube.Wait(ctx, c.Kube, "deployment "+key.String(), key, func(d *appsv1.Deployment) (bool, string) {
		ok, progress := scenario.Available(d)
		return ok && d.Status.Replicas == int32(want), progress
	}); err != nil {
		return nil, err
	}
	var names []string
	var list corev1.PodList
	if err := c.Kube.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": name}); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", key, err)
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// podDrain is for how long a backend's pod goes on serving after it was told to
// end (routechange.yaml). What a data plane sends to it later fails:
// endpointDrain lets that be seen.
const podDrain, endpointDrain = 2 * time.Second, 4 * time.Second

// podsOf is the backend of such a kind.
func podsOf(kind string) string { return kind + "-backend" }

// endpointKinds change the pods behind a route, and no object of the Gateway
// API.
func endpointKinds() []*kindOfChange {
	kind := func(name, title string, replicas int) *kindOfChange {
		always := stream.Answer{Route: name, Generation: 1, Backends: []string{podsOf(name)}}
		return &kindOfChange{
			name: name, title: title, lasts: endpointDrain,
			streams: []stream.Stream{{Name: "the route to the changed pods", Host: changeHost(name), Path: "/", Before: always, After: always}},
			begin: func(ctx context.Context, c *changing) error {
				if err := c.backend(ctx, podsOf(name), c.Namespace, replicas); err != nil {
					return err
				}
				return c.put(ctx, "route", c.route(changedRoute{
					Name: name, Hosts: []string{changeHost(name)}, Rules: []changedRule{{Marker: marks(name, 1), Backends: sendTo(podsOf(name))}},
				}))
			},
		}
	}
	replaced := kind("endpoint", "one of two backend pods was deleted, and replaced by a new one", 2)
	replaced.expect = func(ctx context.Context, c *changing, _ bool) (before, after stream.Answer, err error) {
		before, after = replaced.streams[0].Before, replaced.streams[0].After
		if before.Pods, err = c.pods(ctx, podsOf("endpoint"), c.Namespace, 2); err != nil {
			return before, after, err
		}
		c.victim = before.Pods[0]
		after.NotPods = []string{c.victim}
		return before, after, nil
	}
	replaced.write = func(ctx context.Context, c *changing, _ bool) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.victim}}
		if err := c.Kube.Delete(ctx, pod); err != nil {
			return fmt.Errorf("delete %s: %w", kube.Describe(pod), err)
		}
		return nil
	}
	scaled := kind("scale", "a backend was scaled from one pod to two, and back", 1)
	scaled.expect = func(ctx context.Context, c *changing, forward bool) (before, after stream.Answer, err error) {
		before, after = scaled.streams[0].Before, scaled.streams[0].After
		if forward {
			// Which pod goes on the way back nobody knows before.
			before.Pods, err = c.pods(ctx, podsOf("scale"), c.Namespace, 1)
		}
		return before, after, err
	}
	scaled.write = func(ctx context.Context, c *changing, forward bool) error {
		return c.scale(ctx, podsOf("scale"), c.Namespace, 1+stateNumber(forward))
	}
	return []*kindOfChange{replaced, scaled}
}

// lifeKinds make whole routes come and go, next to those that live.
func lifeKinds() []*kindOfChange {
	route := func(name, backend string) changedRoute {
		return changedRoute{Name: name, Hosts: []string{changeHost(name)}, Rules: []changedRule{{Marker: marks(name, 1), Backends: sendTo(backend)}}}
	}
	recreate := &kindOfChange{name: "recreate", title: "a route was deleted and created again", streams: []stream.Stream{{
		Name: "the route that goes and comes", Host: changeHost("recreate"), Path: "/", Before: stream.Answer{Route: "recreate", Generation: 1}, After: stream.Answer{Status: 404},
	}}}
	recreate.begin = func(ctx context.Context, c *changing) error {
		return c.put(ctx, "route", c.route(route("recreate", "echo")))
	}
	recreate.write = func(ctx context.Context, c *changing, forward bool) error {
		if forward {
			return c.drop(ctx, "route", c.route(route("recreate", "echo")))
		}
		return c.put(ctx, "route", c.route(route("recreate", "echo")))
	}
	// A route whose backend does not exist is answered with 5xx, and nobody
	// else is the worse for it.
	invalid := &kindOfChange{name: "invalid", title: "a route to a Service that does not exist was added and removed", streams: []stream.Stream{{
		Name: "the invalid route", Host: changeHost("invalid"), Path: "/", Before: stream.Answer{Status: 404}, After: stream.Answer{Status: 5},
	}}}
	invalid.begin = func(context.Context, *changing) error { return nil }
	invalid.write = func(ctx context.Context, c *changing, forward bool) error {
		if forward {
			return c.put(ctx, "route", c.route(route("invalid", "missing")))
		}
		return c.drop(ctx, "route", c.route(route("invalid", "missing")))
	}
	return []*kindOfChange{recreate, invalid}
}
