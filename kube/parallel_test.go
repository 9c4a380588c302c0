package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestParallelDoesEachOnce(t *testing.T) {
	var mu sync.Mutex
	var did, told []int
	var under, most atomic.Int32
	err := Parallel(t.Context(), 100, 7, func(n int) { told = append(told, n) }, func(_ context.Context, i int) error {
		now := under.Add(1)
		defer under.Add(-1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		mu.Lock()
		defer mu.Unlock()
		did = append(did, i)
		return nil
	})
	slices.Sort(did)
	if err != nil || len(did) != 100 || did[0] != 0 || did[99] != 99 || len(slices.Compact(did)) != 100 || most.Load() > 7 {
		t.Errorf("did %v, %d at once, %v", did, most.Load(), err)
	}
	if !slices.IsSorted(told) || len(told) != 100 || told[99] != 100 {
		t.Errorf("told %v", told)
	}
}

func TestParallelEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	err := Parallel(t.Context(), 1000, 1, nil, func(_ context.Context, i int) error {
		if i == 10 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "after 10 of 1000: ") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Parallel(ctx, 1000, 2, func(n int) {
		if n == 5 {
			cancel()
		}
	}, func(context.Context, int) error { return nil })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "1000 of 1000") {
		t.Errorf("%v", err)
	}
	if err := Parallel(t.Context(), 0, 2, nil, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}
