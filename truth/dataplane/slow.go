package dataplane

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

// slow lets a request wait and cost as much as faults want.
func (r *Replica) slow(ctx context.Context, f fault.Faults) {
	now := time.Now()
	if until := time.Unix(0, r.wrong.stalled.Load()); until.After(now) {
		r.wrong.injected.Add("stall")
		r.wrong.stalls.wait(ctx, now, until)
	}
	if f.Limit > 0 {
		if wait := turn(&r.wrong.slot, now, time.Second/time.Duration(f.Limit)); wait > 0 {
			r.wrong.injected.Add("limit")
			_ = pause(ctx, wait)
		}
	}
	if f.Latency > 0 {
		r.wrong.injected.Add("latency")
		began := time.Now()
		for time.Since(began) < f.Latency {
		}
		r.wrong.busy.Add(int64(time.Since(began)))
	}
}

// turn is how long a request waits until a gap has passed since the turn of the
// one before it, which the slot has.
func turn(slot *atomic.Int64, now time.Time, gap time.Duration) time.Duration {
	for {
		last := slot.Load()
		at := max(last+int64(gap), now.UnixNano())
		if slot.CompareAndSwap(last, at) {
			return time.Duration(at - now.UnixNano())
		}
	}
}

// spoilChange does what faults want when a table came into force after another.
// It is called with the lock.
func (r *Replica) spoilChange(before, next *table) {
	f := r.options.Faults.Now()
	if f.Stall > 0 && otherEndpoints(before, next) {
		r.wrong.stalled.Store(time.Now().Add(f.Stall).UnixNano())
	}
	if before.version == 0 || before.version == next.version {
		return
	}
	for _, s := range r.servers {
		if f.DropsKeptOnChange {
			for range s.connections.drop() {
				r.wrong.injected.Add("dropsKeptOnChange")
			}
		}
		if f.EndsSocketsOnChange {
			for range s.connections.dropSockets() {
				r.wrong.injected.Add("endsSocketsOnChange")
			}
		}
	}
}

// otherEndpoints tells whether a backend that both have changed.
func otherEndpoints(before, next *table) bool {
	for name, b := range next.backends {
		if had, ok := before.backends[name]; ok && !slices.Equal(had.Endpoints, b.Endpoints) {
			return true
		}
	}
	return false
}

const (
	// idle is how often a replica looks whether it is to ask for health.
	idle = 250 * time.Millisecond
	// healthLimit bounds one question.
	healthLimit = time.Second
)

// askHealth asks all endpoints of all rules how they are, as often as faults
// say, until the context ends.
func (r *Replica) askHealth(ctx context.Context) {
	for {
		interval := r.options.Faults.Now().HealthPerRoute
		if pause(ctx, cmp.Or(interval, idle)) != nil {
			return
		}
		if interval == 0 {
			continue
		}
		var asking sync.WaitGroup
		for _, url := range r.table.Load().endpoints() {
			asking.Go(func() { r.ask(ctx, url) })
		}
		asking.Wait()
	}
}

// endpoints are those of each rule, as often as rules have them.
func (t *table) endpoints() []string {
	var all []string
	for _, p := range t.ports {
		for _, l := range p.listeners {
			for _, rule := range l.rules {
				for _, to := range rule.backends.targets {
					if to.backend == nil {
						continue
					}
					for _, e := range to.backend.Endpoints {
						all = append(all, "http://"+e.String()+"/")
					}
				}
			}
		}
	}
	return all
}

func (r *Replica) ask(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return // what is no address cannot be asked
	}
	request.Header.Set("User-Agent", "truth-health")
	r.wrong.injected.Add("healthPerRoute")
	response, err := r.h1.RoundTrip(request)
	if err != nil {
		return // the load is all that matters of it
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
}
