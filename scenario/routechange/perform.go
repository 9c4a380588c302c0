package routechange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/stream"
)

// measure makes one kind of change again and again.
func (r *routeChanges) measure(ctx context.Context, kind *kindOfChange) (*kindChanges, error) {
	seen := &kindChanges{kind: kind, planned: 2 * r.Values.Int("iterations"), settle: r.Values.Duration("settle")}
	if seen.unsupported = r.lacks(kind); seen.unsupported != "" {
		return seen, nil
	}
	c := &changing{Trial: r.Trial, kind: kind, stage: r.stage}
	err := r.perform(ctx, c, seen)
	if kind.end != nil {
		err = errors.Join(err, kind.end(ctx, c))
	}
	return seen, invalidWith(err, c.clear(ctx))
}

// invalidWith joins problems of our own.
func invalidWith(problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return scenario.Invalid{Reason: err}
	}
	return nil
}

func (r *routeChanges) perform(ctx context.Context, c *changing, seen *kindChanges) error {
	if c.kind.begin != nil {
		if err := c.kind.begin(ctx, c); err != nil {
			return err
		}
	}
	var streams []stream.Stream
	for _, s := range append(slices.Clone(c.kind.streams), neighbourStream()) {
		streams = append(streams, asked(r.route(), s))
	}
	endpoints, err := r.endpoints(ctx, streams)
	if err != nil {
		return err
	}
	seen.streams = streams
	traffic, err := stream.Start(ctx, streams, func(port int32) []stream.Endpoint { return endpoints[port] }, r.trafficOptions())
	if err != nil {
		return err
	}
	seen.lanes, seen.began = traffic.Lanes, traffic.Began
	failed := r.change(ctx, c, seen, traffic)
	results, err := traffic.Stop(ctx)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	gone, err := r.replaced(ctx, streams, endpoints)
	if err != nil {
		return err
	}
	seen.load.add(results)
	seen.take(traffic.Log.Since(0), gone)
	return nil
}

// endpoints are where the traffic goes, for each port of the streams.
func (r *routeChanges) endpoints(ctx context.Context, streams []stream.Stream) (map[int32][]stream.Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	if _, err := r.WaitGateway(ctx, scenario.GatewayName); err != nil {
		return nil, scenario.GatewayError(err)
	}
	all := map[int32][]stream.Endpoint{}
	for i := range streams {
		port := streams[i].ListenerPort()
		if all[port] != nil {
			continue
		}
		if r.Values.String("through") == "address" {
			address, err := r.GatewayAddress(ctx, port)
			if err != nil {
				return nil, err
			}
			all[port] = []stream.Endpoint{{Name: "the Gateway's address", Address: address}}
			continue
		}
		replicas, err := r.Replicas(ctx, port)
		if err != nil {
			return nil, err
		}
		for _, t := range (&scenario.Stage{Replicas: replicas}).Targets() {
			all[port] = append(all[port], stream.Endpoint{Name: t.Name, Address: t.Address.String()})
		}
	}
	return all, nil
}

// replaced names the replicas that are no longer there: nobody who asks the
// Gateway's Service is sent to them, so that what became of our requests there
// says nothing.
func (r *routeChanges) replaced(ctx context.Context, streams []stream.Stream, before map[int32][]stream.Endpoint) (map[string]bool, error) {
	now, err := r.endpoints(ctx, streams)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for port, all := range before {
		for _, e := range all {
			if !slices.Contains(now[port], e) {
				gone[e.Name] = true
			}
		}
	}
	return gone, nil
}

// change waits for the state before, and changes it as often as is planned.
func (r *routeChanges) change(ctx context.Context, c *changing, seen *kindChanges, traffic *stream.Traffic) error {
	if err := r.waitForBefore(ctx, c, seen, traffic); err != nil {
		if ctx.Err() != nil {
			return err
		}
		seen.notServed = err.Error()
		r.Broken("not-served-" + c.kind.name)
		return nil
	}
	for i := range seen.planned {
		forward := i%2 == 0
		one, err := r.one(ctx, c, seen, traffic, forward)
		if err != nil {
			return fmt.Errorf("after %d of %d changes: %w", i, seen.planned, err)
		}
		seen.changes = append(seen.changes, one)
		if r.inForce(one, seen, traffic.Log.Since(one.T0)) {
			continue
		}
		// Another wait would tell nothing new.
		r.Broken("never-in-force-" + c.kind.name)
		if forward {
			seen.unsupported, err = r.refused(ctx, c)
		}
		if forward && seen.unsupported == "" {
			seen.unsupported = r.Target.Unclaimed(r.features, c.kind.feature)
		}
		return err
	}
	return nil
}

// inForce seizes evidence if users got errors, and reports whether the change
// is in force.
func (r *routeChanges) inForce(one stream.Change, seen *kindChanges, hits []stream.Hit) bool {
	for i := range hits {
		h := &hits[i]
		l := seen.lanes[h.Lane]
		if stream.Tell(h, l.Fresh, one.Before[l.Stream], one.After[l.Stream]) == stream.ShowsWrong {
			r.Broken(seen.errorsID(l))
			break
		}
	}
	for _, e := range stream.Effects(seen.lanes, hits, &one, seen.settle) {
		if e.Good < 0 {
			return false
		}
	}
	return true
}

// poll is how often the traffic is looked at while a change is waited for.
const poll = 20 * time.Millisecond

// waitForBefore returns when every lane has shown the state before the changes
// for a while.
func (r *routeChanges) waitForBefore(ctx context.Context, c *changing, seen *kindChanges, traffic *stream.Traffic) error {
	before, _, err := c.rights(ctx, seen.streams, true)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(scenario.OldLimit)
	// Long enough for twice the answers on lanes that are asked least.
	window := max(seen.settle, 2*settledRights*r.trafficOptions().LongestStep(seen.lanes))
	for {
		now := traffic.At(time.Now())
		lacking := lacksState(seen.lanes, traffic.Log.Since(now-window), before, seen.streams)
		if lacking == "" && now > window {
			seen.ready = now
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %s", lacking, scenario.OldLimit)
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// lacksState says in words which lane does not show a state, or "". A state
// with some errors is one: they are counted later.
func lacksState(lanes []stream.Lane, hits []stream.Hit, state []stream.Answer, streams []stream.Stream) string {
	rights, wrongs, last := make([]int, len(lanes)), make([]int, len(lanes)), make([]string, len(lanes))
	for i := range hits {
		h := &hits[i]
		l := lanes[h.Lane]
		if stream.Tell(h, l.Fresh, state[l.Stream], state[l.Stream]) == stream.ShowsEither {
			rights[h.Lane]++
			continue
		}
		wrongs[h.Lane]++
		last[h.Lane] = ", and others: " + h.What()
	}
	for i := range lanes {
		if rights[i] < settledRights || rights[i] < wrongs[i] {
			return fmt.Sprintf("%s got %d right answers from %s%s", streams[lanes[i].Stream].Name, rights[i], lanes[i], last[i])
		}
	}
	return ""
}

// settledRights is how many right answers show that the state before is there.
const settledRights = 3

// rights are what is right for every stream before and after the next change.
func (c *changing) rights(ctx context.Context, streams []stream.Stream, forward bool) (before, after []stream.Answer, err error) {
	for i := range streams {
		b, a := streams[i].Before, streams[i].After
		if !forward {
			b, a = a, b
		}
		if i == 0 && c.kind.expect != nil {
			if b, a, err = c.kind.expect(ctx, c, forward); err != nil {
				return nil, nil, err
			}
			b, a = right(scenario.RouteOf(c.Values), b), right(scenario.RouteOf(c.Values), a)
		}
		before, after = append(before, b), append(after, a)
	}
	return before, after, nil
}

// one makes one change and watches it.
func (r *routeChanges) one(ctx context.Context, c *changing, seen *kindChanges, traffic *stream.Traffic, forward bool) (stream.Change, error) {
	one := stream.Change{Forward: forward}
	var err error
	if one.Before, one.After, err = c.rights(ctx, seen.streams, forward); err != nil {
		return one, err
	}
	if err := pause(ctx, r.Values.Duration("rest")); err != nil {
		return one, err
	}
	start := time.Now()
	one.T0 = traffic.At(start)
	if c.kind.write != nil {
		if err := c.kind.write(ctx, c, forward); err != nil {
			return one, err
		}
	}
	one.Answered = time.Since(start)
	r.Event(start, "change", c.kind.name)
	least, limit := max(r.Values.Duration("watch"), c.kind.lasts), r.Values.Duration("limit")
	for {
		if err := pause(ctx, poll); err != nil {
			return one, err
		}
		now := time.Since(start)
		if now < least {
			continue
		}
		all := stream.Effects(seen.lanes, traffic.Log.Since(one.T0), &one, seen.settle)
		if stream.Settled(all, seen.lanes, &one, now, seen.settle) || now >= limit {
			one.Until = traffic.At(time.Now())
			return one, nil
		}
	}
}

// refused says why the implementation refuses the kind's route, where it says
// itself that it does not support what the route asks for.
func (r *routeChanges) refused(ctx context.Context, c *changing) (string, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: r.RouteVersion(), Kind: r.route().Kind})
	err := r.Kube.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: c.kind.name}, object)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read route %s: %w", c.kind.name, err)
	}
	var route struct {
		Status gatewayv1.RouteStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &route); err != nil {
		return "", fmt.Errorf("read the status of route %s: %w", c.kind.name, err)
	}
	for _, parent := range route.Status.Parents {
		for _, condition := range parent.Conditions {
			if condition.Status == metav1.ConditionFalse && condition.Reason == string(gatewayv1.RouteReasonUnsupportedValue) {
				return "the route's status says so: " + strings.TrimSpace(condition.Message), nil
			}
		}
	}
	return "", nil
}

// pause sleeps, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
