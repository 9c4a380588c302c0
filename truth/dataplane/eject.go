package dataplane

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ejected are endpoints that a route, or all routes of a replica, do not use for
// a while.
type ejected struct {
	mu    sync.Mutex
	until map[netip.AddrPort]time.Time
	// failures are those in a row, since the endpoint was last ejected.
	failures map[netip.AddrPort]int
}

// An Ejection is an endpoint that was not used for a while.
type Ejection struct {
	Endpoint    netip.AddrPort
	From, Until time.Time
}

// take counts how a request to an endpoint ended, and reports whether it is
// ejected for that.
func (e *ejected) take(endpoint netip.AddrPort, failed bool, after int, until time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.until == nil {
		e.until, e.failures = map[netip.AddrPort]time.Time{}, map[netip.AddrPort]int{}
	}
	if !failed {
		e.failures[endpoint] = 0
		return false
	}
	if e.failures[endpoint]++; e.failures[endpoint] < after {
		return false
	}
	e.until[endpoint], e.failures[endpoint] = until, 0
	return true
}

func (e *ejected) has(endpoint netip.AddrPort, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.until[endpoint])
}

// ejected is what the route goes by.
func (a attempts) ejected() *ejected {
	if a.replica.options.Faults.Now().EjectShared {
		return &a.replica.wrong.ejected
	}
	return &a.rule.life.ejected
}

// endpoint is the one whose turn it is among those that are not ejected, or
// among all where all are.
func (a attempts) endpoint() netip.AddrPort {
	now := time.Now()
	for range a.to.backend.Endpoints {
		if e := a.to.backend.endpoint(); !a.ejected().has(e, now) {
			return e
		}
	}
	return a.to.backend.endpoint()
}

// judge ejects an endpoint for what came of a request, where faults want it.
func (a attempts) judge(endpoint netip.AddrPort, response *http.Response, err error) {
	f := a.replica.options.Faults.Now()
	if f.EjectFor == 0 {
		return
	}
	failed := err != nil || response != nil && response.StatusCode >= http.StatusInternalServerError
	if failed {
		a.replica.wrong.injected.Add("ejectFor")
	}
	now := time.Now()
	if a.ejected().take(endpoint, failed, max(f.EjectAfter, 1), now.Add(f.EjectFor)) {
		a.replica.wrong.note(Ejection{endpoint, now, now.Add(f.EjectFor)})
	}
}

// ejections are all that there were.
type ejections struct {
	mu  sync.Mutex
	all []Ejection
}

func (e *ejections) note(one Ejection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
}

// Ejections are when which endpoints were not used, in the order in which that
// began.
func (r *Replica) Ejections() []Ejection {
	r.wrong.ejections.mu.Lock()
	defer r.wrong.ejections.mu.Unlock()
	return slices.Clone(r.wrong.ejections.all)
}
