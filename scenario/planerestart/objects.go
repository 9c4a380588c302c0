package planerestart

import (
	"context"
	_ "embed"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

//go:embed objects.yaml
var manifest string

// The routes. steady is never changed, changed gets another marker after each
// event, and created is created after it and deleted before the next.
const (
	steady  = "steady"
	changed = "changed"
	created = "created"
	sockets = "sockets"
)

func hostOf(route string) string { return route + ".gatemark.test" }

// template fills one of objects.yaml and writes it.
func (r *restarts) template(ctx context.Context, name string, data any) error {
	return r.Apply(ctx, "objects.yaml", manifest+"{{template \""+name+"\" .}}\n", data)
}

// put writes a route in a generation.
func (r *restarts) put(ctx context.Context, route, backend string, generation int64) error {
	return r.template(ctx, "route", map[string]any{
		"Name": route, "Namespace": r.Namespace, "Gateway": scenario.GatewayName, "Host": hostOf(route), "Backend": backend,
		"Marker": marker.Expect(route, generation).Filter(),
	})
}

// makeRoutes makes those that are there from the beginning.
func (r *restarts) makeRoutes(ctx context.Context) error {
	r.generation = 1
	if err := r.put(ctx, steady, "echo", 1); err != nil {
		return err
	}
	if err := r.put(ctx, changed, "echo", r.generation); err != nil {
		return err
	}
	if r.Values.Int("sockets") == 0 {
		return nil
	}
	if err := r.template(ctx, "sockets", map[string]any{"Namespace": r.Namespace}); err != nil {
		return err
	}
	return r.put(ctx, sockets, "sockets", 1)
}

// change changes one route and creates another.
func (r *restarts) change(ctx context.Context) error {
	r.generation++
	if err := r.put(ctx, changed, "echo", r.generation); err != nil {
		return err
	}
	return r.put(ctx, created, "echo", r.generation)
}

// takeBack deletes the route that was created.
func (r *restarts) takeBack(ctx context.Context) error {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: created}}
	if err := r.Kube.Delete(ctx, route); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete route %s: %w", created, err)
	}
	return nil
}

// streams are what users ask for, in the state that the routes are in.
func (r *restarts) streams(changes bool) []stream.Stream {
	ask := func(name, route string, answer stream.Answer) stream.Stream {
		return stream.Stream{Name: name, Host: hostOf(route), Path: "/", Before: answer, After: answer}
	}
	all := []stream.Stream{ask("the route that nobody changes", steady, stream.Answer{Route: steady, Generation: 1})}
	if changes {
		all = append(all, ask("the changed route", changed, r.answers()[1]), ask("the new route", created, r.answers()[2]))
	}
	return all
}

// answers are right for each stream before a change.
func (r *restarts) answers() []stream.Answer {
	return []stream.Answer{{Route: steady, Generation: 1}, {Route: changed, Generation: r.generation}, {Status: 404}}
}

// answersAfter are right after it.
func (r *restarts) answersAfter() []stream.Answer {
	return []stream.Answer{{Route: steady, Generation: 1}, {Route: changed, Generation: r.generation}, {Route: created, Generation: r.generation}}
}

// right reports whether an answer is right for a stream at some time: when
// changes are in force is another question.
func right(h *stream.Hit, of int) bool {
	switch of {
	case 0:
		return h.Status == 200 && h.Marker.Route == steady
	case 1:
		return h.Status == 200 && h.Marker.Route == changed
	}
	return h.Status == 404 || h.Status == 200 && h.Marker.Route == created
}
