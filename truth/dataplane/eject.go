package dataplane

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// ejected are endpoints that a route does not use for a while.
type ejected struct {
	mu    sync.Mutex
	until map[netip.AddrPort]time.Time
}

func (e *ejected) add(endpoint netip.AddrPort, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.until == nil {
		e.until = map[netip.AddrPort]time.Time{}
	}
	e.until[endpoint] = until
}

func (e *ejected) has(endpoint netip.AddrPort, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.until[endpoint])
}

// endpoint is the one whose turn it is among those that are not ejected, or
// among all where all are.
func (a attempts) endpoint() netip.AddrPort {
	now := time.Now()
	for range a.to.backend.Endpoints {
		if e := a.to.backend.endpoint(); !a.rule.life.ejected.has(e, now) {
			return e
		}
	}
	return a.to.backend.endpoint()
}

// judge ejects an endpoint for what came of a request, where faults want it.
func (a attempts) judge(endpoint netip.AddrPort, response *http.Response, err error) {
	d := a.replica.options.Faults.Now().EjectFor
	if d > 0 && (err != nil || response != nil && response.StatusCode >= http.StatusInternalServerError) {
		a.replica.wrong.injected.Add("ejectFor")
		a.rule.life.ejected.add(endpoint, time.Now().Add(d))
	}
}
