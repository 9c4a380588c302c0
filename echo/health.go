package echo

import (
	"cmp"
	"net"
	"slices"
	"sync"
)

// HealthCounts is what health checks the port for requests has seen.
type HealthCounts struct {
	Requests int64         `json:"requests"`
	Sources  []HealthCount `json:"sources"`
}

// A HealthCount is the number of health checks from one address and user agent
// that were answered with one status; 0 as in RouteCount.
type HealthCount struct {
	Source    string `json:"source"`
	UserAgent string `json:"userAgent"`
	Status    int    `json:"status"`
	Requests  int64  `json:"requests"`
}

// maxSources bounds the sources that are counted by name.
const maxSources = 10_000

type healthCounters struct {
	mu      sync.Mutex
	sources map[healthKey]int64
}

type healthKey struct {
	source, agent string
	status        int
}

func (h *healthCounters) count(from net.Addr, agent string, status int) {
	source, _, err := net.SplitHostPort(from.String())
	if err != nil {
		source = from.String()
	}
	key := healthKey{source, agent, status}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sources == nil {
		h.sources = map[healthKey]int64{}
	}
	if h.sources[key] == 0 && len(h.sources) >= maxSources {
		key.source, key.agent = overflow, overflow
	}
	h.sources[key]++
}

func (h *healthCounters) counts() HealthCounts {
	out := HealthCounts{Sources: []HealthCount{}}
	h.mu.Lock()
	for key, n := range h.sources {
		out.Sources = append(out.Sources, HealthCount{key.source, key.agent, key.status, n})
		out.Requests += n
	}
	h.mu.Unlock()
	slices.SortFunc(out.Sources, func(a, b HealthCount) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Status, b.Status))
	})
	return out
}
