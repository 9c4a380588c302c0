package kube

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Parallel does something for each number from 0 to n-1, in their order, with
// at most so many under way at once. It begins no more after an error, which
// says how many were done. done, if it is not nil, is told how many are, each
// time, and is never called twice at once.
func Parallel(ctx context.Context, n, workers int, done func(n int), do func(ctx context.Context, i int) error) error {
	var mu sync.Mutex
	finished := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := do(ctx, i); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if finished++; done != nil {
				done(finished)
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		err = ctx.Err() // of whoever called
	}
	if err != nil && finished < n {
		return fmt.Errorf("after %d of %d: %w", finished, n, err)
	}
	return nil
}
