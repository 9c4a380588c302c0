// Package loop calls a function for every change of objects in a cluster, with
// a cache of them to read from: changes that come while it works are looked at
// together afterwards.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
)

// A Loop watches objects.
type Loop struct {
	// Watched has one object of each kind.
	Watched []client.Object
	// Selected narrows kinds down.
	Selected map[client.Object]cache.ByObject
	// Log takes the errors of a step, which is tried again.
	Log *slog.Logger
}

// A Later is the error of a step that is to come again after a while, whether
// or not anything changes. It is no failure.
type Later time.Duration

func (l Later) Error() string { return fmt.Sprintf("again in %s", time.Duration(l)) }

// again is how long after a step that failed the next one comes.
const again = time.Second

// Run calls step for every change until the context ends, the first time with
// all objects read. It returns an error where they cannot be watched.
func (l *Loop) Run(ctx context.Context, c *kube.Client, step func(context.Context, client.Reader) error) error {
	signal := make(chan struct{}, 1)
	poke := func() {
		select {
		case signal <- struct{}{}:
		default: // there is one already
		}
	}
	objects, err := l.watch(ctx, c, poke)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ended := make(chan error, 1)
	running.Go(func() { ended <- objects.Start(ctx) })
	if !objects.WaitForCacheSync(ctx) {
		cancel()
		return errors.Join(errors.New("the cluster's objects could not be read"), <-ended)
	}
	poke()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if ctx.Err() != nil {
				return nil // it ended with the context, and was seen first
			}
			return fmt.Errorf("watch: %w", err)
		case <-signal:
		}
		err := step(ctx, objects)
		var later Later
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.As(err, &later):
			time.AfterFunc(time.Duration(later), poke)
		default:
			l.Log.Error("apply a change", "error", err)
			time.AfterFunc(again, poke)
		}
	}
}

func (l *Loop) watch(ctx context.Context, c *kube.Client, poke func()) (cache.Cache, error) {
	objects, err := cache.New(c.Config, cache.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper(), ByObject: l.Selected})
	if err != nil {
		return nil, err
	}
	for _, object := range l.Watched {
		informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { poke() },
				UpdateFunc: func(any, any) { poke() },
				DeleteFunc: func(any) { poke() },
			})
		}
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return objects, nil
}
