package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
	"github.com/gatemark/gatemark/truth/loop"
)

// Options are what a control plane works with.
type Options struct {
	Kube *kube.Client
	// Feed takes the snapshots.
	Feed *feed.Feed
	// Placement makes data planes.
	Placement Placement
	// Faults are asked at their points; nil has none.
	Faults *fault.Switch
	// Log takes what went wrong and will be tried again; nil discards it.
	Log *slog.Logger
}

// A controller is a control plane at work.
type controller struct {
	Options
	routes, others *writer // of statuses: of routes, and of everything else
	pairs          *pairs
	known          map[string]bool // Gateways that were placed
	wrong          *wrong
}

// Run works until the context ends.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &controller{Options: o, pairs: newPairs(), known: map[string]bool{}, wrong: newWrong(o.Faults)}
	c.routes = newWriter(o.Kube, o.Faults, fault.Faults.BeforeRouteStatus, o.Log)
	c.others = newWriter(o.Kube, o.Faults, fault.Faults.BeforeGatewayStatus, o.Log)
	if err := late(ctx, o.Faults.Now().StartsLate); err != nil {
		return nil // it ended before it began
	}
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer cancel()
	writing.Go(func() { c.routes.run(ctx) })
	writing.Go(func() { c.others.run(ctx) })
	writing.Go(func() {
		if err := c.wrong.burden.Carry(ctx, o.Faults); err != nil {
			o.Log.Error("carry the burden of faults", "error", err)
		}
	})
	definitions := &apiextensionsv1.CustomResourceDefinition{}
	l := loop.Loop{Watched: watched(), Log: o.Log, Selected: map[client.Object]cache.ByObject{
		definitions: {Field: fields.OneTermEqualSelector("metadata.name", classDefinition)},
	}}
	if err := l.Run(ctx, o.Kube, c.step); err != nil {
		return fmt.Errorf("truth's control plane: %w", err)
	}
	return nil
}

// late waits, unless the context ends.
func late(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// step brings everything in line with the objects as they are now.
func (c *controller) step(ctx context.Context, objects client.Reader) error {
	all, err := read(ctx, objects)
	if err != nil {
		return err
	}
	w := translate(all, c.pairs)
	c.wrong.work(w)
	c.wrong.gateways(w)
	var problems []error
	known := map[string]bool{}
	for key, g := range w.gateways {
		known[key.String()] = true
		g.told = c.publish(c.wrong.snapshot(w, g, c.Feed.Latest(key.String())))
		placed, err := c.Placement.Place(ctx, objects, g.object, ports(g.told), g.told)
		if err != nil {
			problems = append(problems, fmt.Errorf("data plane of gateway %s: %w", key, err))
		}
		g.placed = c.wrong.placed(placed)
	}
	for name := range c.known {
		if !known[name] {
			c.Placement.Remove(name)
			c.Feed.Forget(name)
		}
	}
	c.known = known
	routes, others := byWriter(c.wrong.conclude(w))
	c.routes.want(objects, routes)
	c.others.want(objects, others)
	if wait := c.wrong.forgetful(); wait > 0 && len(problems) == 0 {
		return loop.Later(wait)
	}
	return errors.Join(problems...)
}

func byWriter(all []status) (routes, others []status) {
	for _, s := range all {
		if declare(s.object) != nil {
			routes = append(routes, s)
		} else {
			others = append(others, s)
		}
	}
	return routes, others
}

// publish feeds a snapshot that says something new, and returns the latest.
func (c *controller) publish(snapshot *config.Snapshot) *config.Snapshot {
	latest := c.Feed.Latest(snapshot.Gateway)
	if latest != nil {
		if snapshot.Same(latest) {
			return latest
		}
		// Should the clock have been set back.
		snapshot.Version = max(snapshot.Version, latest.Version+1)
	}
	c.Feed.Publish(snapshot)
	return snapshot
}
