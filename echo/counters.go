package echo

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatemark/gatemark/echo/events"
	"github.com/gatemark/gatemark/echo/fault"
)

// Counters are what a server has seen since it started.
type Counters struct {
	Pod      string    `json:"pod"`
	Instance string    `json:"instance"`
	Started  time.Time `json:"started"`
	// Accepted counts connections, Open those that are open, and AcceptErrors
	// those that could not be accepted and ports that could not be opened.
	Accepted     int64 `json:"accepted"`
	Open         int64 `json:"open"`
	AcceptErrors int64 `json:"acceptErrors"`
	// Requests is the sum of Routes.
	Requests int64 `json:"requests"`
	// InFlight is how many requests are being answered, and MostInFlight how
	// many ever were at once. WebSocket connections are none.
	InFlight     int64 `json:"inFlight"`
	MostInFlight int64 `json:"mostInFlight"`
	// Protocols is what passed by protocol.
	Protocols []ProtocolCount `json:"protocols"`
	// TLS counts handshakes.
	TLS HandshakeCounts `json:"tls"`
	// Routes is sorted by route and status.
	Routes []RouteCount `json:"routes"`
	// GRPC counts calls, which are requests too, by their status.
	GRPC []GRPCCount `json:"grpc"`
	// WebSocketMessages counts messages that were echoed.
	WebSocketMessages int64 `json:"webSocketMessages"`
	// Health counts health checks, which are not among Requests.
	Health HealthCounts `json:"health"`
	// Applied counts faults that were applied, by kind. Rules are those in
	// force; their counts begin at 0 when they are set.
	Applied map[string]int64  `json:"applied"`
	Rules   []fault.RuleCount `json:"rules"`
	// Delays is what requests really waited that were delayed or stalled.
	Delays DelayCounts   `json:"delays"`
	Events events.Counts `json:"events"`
}

// A ProtocolCount is what passed in one protocol. Bytes are counted on the
// wire, as they are between TLS and TCP.
type ProtocolCount struct {
	Protocol    string `json:"protocol"`
	Connections int64  `json:"connections"`
	Requests    int64  `json:"requests"`
	BytesIn     int64  `json:"bytesIn"`
	BytesOut    int64  `json:"bytesOut"`
}

// A RouteCount is the number of requests of one route, empty for requests
// without a marker, that were answered with one status. Status 0 is no answer
// that would have one: reset, closed, hung or garbage.
type RouteCount struct {
	Route    string `json:"route"`
	Status   int    `json:"status"`
	Requests int64  `json:"requests"`
}

// A GRPCCount is the number of calls that were answered with one status.
type GRPCCount struct {
	Status int   `json:"status"`
	Calls  int64 `json:"calls"`
}

// maxRoutes bounds the routes that are counted by name: a header field that a
// stranger sends must not fill the memory. More are counted under overflow.
const (
	maxRoutes = 200_000
	overflow  = "(others)"
)

type counters struct {
	accepted, acceptErrors atomic.Int64
	messages               atomic.Int64
	grpc                   [17]atomic.Int64
	flight                 flight
	handshakes             handshakes
	// protocols are the counts of connections that have ended.
	protocols [protocols]struct {
		closed atomic.Int64
		traffic
	}

	mu     sync.Mutex
	routes map[tallyKey]*tally
}

// flight counts what is under way.
type flight struct{ now, most atomic.Int64 }

func (f *flight) enter() {
	n := f.now.Add(1)
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); {
		most = f.most.Load()
	}
}

func (f *flight) leave() { f.now.Add(-1) }

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
		c.count = c.server.counters.find(route, status)
	}
	c.count.n.Add(1)
	c.wire.requests.Add(1)
}

func (c *counters) find(route []byte, status int) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Spelt out, so that looking allocates nothing.
	if t := c.routes[tallyKey{string(route), status}]; t != nil {
		return t
	}
	key := tallyKey{string(route), status}
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
		Accepted: s.counters.accepted.Load(), AcceptErrors: s.counters.acceptErrors.Load(),
		InFlight: s.counters.flight.now.Load(), MostInFlight: s.counters.flight.most.Load(),
		TLS: s.counters.handshakes.counts(), Routes: []RouteCount{}, GRPC: []GRPCCount{}, WebSocketMessages: s.counters.messages.Load(),
		Health: s.health.counts(), Applied: s.totals.Counts(), Rules: s.faults.Load().Counts(),
		Delays: s.applied.counts(), Events: s.events.Counts(),
	}
	out.Protocols, out.Open = s.protocolCounts()
	for status := range s.counters.grpc {
		if n := s.counters.grpc[status].Load(); n > 0 {
			out.GRPC = append(out.GRPC, GRPCCount{status, n})
		}
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

// protocolCounts adds what open connections have counted to what ended ones
// had, and returns how many are open.
func (s *Server) protocolCounts() ([]ProtocolCount, int64) {
	var connections [protocols]int64
	var sums [protocols]traffic
	s.mu.Lock()
	open := int64(len(s.wires))
	for p := range sums {
		connections[p] = s.counters.protocols[p].closed.Load()
		sums[p].add(&s.counters.protocols[p].traffic)
	}
	for w := range s.wires {
		p := w.protocol.Load()
		connections[p]++
		sums[p].add(&w.traffic)
	}
	s.mu.Unlock()
	out := []ProtocolCount{}
	for p := range sums {
		if connections[p] > 0 {
			t := &sums[p]
			out = append(out, ProtocolCount{protocolNames[p], connections[p], t.requests.Load(), t.in.Load(), t.out.Load()})
		}
	}
	return out, open
}
