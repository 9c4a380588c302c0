package echo

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Counters are what a server has seen since it started.
type Counters struct {
	Pod      string    `json:"pod"`
	Instance string    `json:"instance"`
	Started  time.Time `json:"started"`
	// Accepted counts connections, Open those that are open, and AcceptErrors
	// those that could not be accepted.
	Accepted     int64 `json:"accepted"`
	Open         int64 `json:"open"`
	AcceptErrors int64 `json:"acceptErrors"`
	// Requests is the sum of Routes.
	Requests int64 `json:"requests"`
	// Routes is sorted by route and status.
	Routes []RouteCount `json:"routes"`
}

// A RouteCount is the number of requests of one route, empty for requests
// without a marker, that were answered with one status.
type RouteCount struct {
	Route    string `json:"route"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

// maxRoutes bounds the routes that are counted by name: a header field that a
// stranger sends must not fill the memory. More are counted under overflow.
const (
	maxRoutes = 200_000
	overflow  = "(others)"
)

type counters struct {
	accepted, acceptErrors atomic.Int64

	mu     sync.Mutex
	routes map[tallyKey]*tally
}

type tallyKey struct {
	route  string
	status int
}

type tally struct {
	tallyKey
	n atomic.Int64
}

// tally counts one request. Connections mostly repeat themselves, so the
// common counters are found without a lock.
func (c *session) tally(route []byte, status int) {
	if c.count == nil || c.count.status != status || c.count.route != string(route) {
		c.count = c.server.counters.find(string(route), status)
	}
	c.count.n.Add(1)
}

func (c *counters) find(route string, status int) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := tallyKey{route, status}
	if t := c.routes[key]; t != nil {
		return t
	}
	if c.routes == nil {
		c.routes = map[tallyKey]*tally{}
	}
	if len(c.routes) >= maxRoutes {
		key.route = overflow
		if t := c.routes[key]; t != nil {
			return t
		}
	}
	t := &tally{tallyKey: key}
	c.routes[key] = t
	return t
}

// Counters returns the counts up to now. Counters of one moment need not agree
// with each other while requests are served.
func (s *Server) Counters() Counters {
	out := Counters{
		Pod: s.options.Pod, Instance: s.options.Instance, Started: s.started,
		Accepted: s.counters.accepted.Load(), Open: int64(s.open()), AcceptErrors: s.counters.acceptErrors.Load(),
		Routes: []RouteCount{},
	}
	s.counters.mu.Lock()
	for _, t := range s.counters.routes {
		n := t.n.Load()
		out.Routes = append(out.Routes, RouteCount{t.route, t.status, n})
		out.Requests += n
	}
	s.counters.mu.Unlock()
	slices.SortFunc(out.Routes, func(a, b RouteCount) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Status, b.Status))
	})
	return out
}
