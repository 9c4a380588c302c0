// Package feed brings snapshots from the control plane of truth to its
// replicas: within a process, or over HTTP as a long poll. The connection is
// neither encrypted nor authenticated, and certificates' keys travel on it:
// truth is the instrument's own test and serves nobody.
package feed

import (
	"context"
	"sync"

	"github.com/gatemark/gatemark/truth/config"
)

// A Source gives a replica its configuration.
type Source interface {
	// Next waits for a snapshot of another version than the one that the
	// replica has; 0 is none.
	Next(ctx context.Context, version int64) (*config.Snapshot, error)
}

// A Feed holds the latest snapshot of every Gateway. Its zero value is ready.
type Feed struct {
	mu       sync.Mutex
	gateways map[string]*latest
}

type latest struct {
	snapshot *config.Snapshot // nil before the first
	changed  chan struct{}    // closed with the next one
}

// Publish makes a snapshot the latest of its Gateway. It must not change
// afterwards.
func (f *Feed) Publish(s *config.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.of(s.Gateway)
	l.snapshot = s
	close(l.changed)
	l.changed = make(chan struct{})
}

// Latest returns a Gateway's latest snapshot, or nil.
func (f *Feed) Latest(gateway string) *config.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of(gateway).snapshot
}

// Forget drops a Gateway that is no more. Who waits goes on waiting: a Gateway
// of that name may come again.
func (f *Feed) Forget(gateway string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(gateway).snapshot = nil
}

// of is called with the lock.
func (f *Feed) of(gateway string) *latest {
	l := f.gateways[gateway]
	if l == nil {
		if f.gateways == nil {
			f.gateways = map[string]*latest{}
		}
		l = &latest{changed: make(chan struct{})}
		f.gateways[gateway] = l
	}
	return l
}

// For is the source of one Gateway's replicas in this process.
func (f *Feed) For(gateway string) Source { return local{f, gateway} }

type local struct {
	feed    *Feed
	gateway string
}

func (l local) Next(ctx context.Context, version int64) (*config.Snapshot, error) {
	for {
		l.feed.mu.Lock()
		now := l.feed.of(l.gateway)
		snapshot, changed := now.snapshot, now.changed
		l.feed.mu.Unlock()
		if snapshot != nil && snapshot.Version != version {
			return snapshot, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
