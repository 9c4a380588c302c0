package dataplane

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gatemark/gatemark/truth/config"
)

// A backend's endpoints take turns.
type backend struct {
	config.Backend
	turn atomic.Uint64
}

func newBackend(from config.Backend) *backend {
	b := &backend{Backend: from}
	// Each snapshot begins anew: always with the first endpoint would favour it.
	b.turn.Store(rand.Uint64N(1 << 32))
	return b
}

// endpoint is the one whose turn it is.
func (b *backend) endpoint() netip.AddrPort {
	return b.Endpoints[b.turn.Add(1)%uint64(len(b.Endpoints))]
}

// A balance shares a rule's requests out among its backends by their weights,
// each in turn as often as its weight, evenly mixed: so shares are exact after
// few requests.
type balance struct {
	mu      sync.Mutex
	targets []*target
	total   int64
}

type target struct {
	backend *backend // nil where it could not be resolved
	filters filters
	weight  int64
	credit  int64
}

func (b *balance) add(to *backend, weight int64, f filters) {
	if weight <= 0 {
		return
	}
	b.targets = append(b.targets, &target{backend: to, filters: f, weight: weight})
	b.total += weight
}

// next picks a target, or nil where there is none: every target earns its
// weight, and the richest pays for all.
func (b *balance) next() *target {
	switch len(b.targets) {
	case 0:
		return nil
	case 1:
		return b.targets[0]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var best *target
	for _, t := range b.targets {
		t.credit += t.weight
		if best == nil || t.credit > best.credit {
			best = t
		}
	}
	best.credit -= b.total
	return best
}
