// Package config is what the control plane of truth tells its data plane: one
// plain value for each Gateway. Rules keep the Gateway API's own types, which
// every reader knows; what is settled about them is settled here: which hosts
// a rule has on which listener, in which order rules are asked, where each
// backend's endpoints are, and which certificates a listener has.
package config

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A Snapshot is everything that the replicas of one Gateway serve.
type Snapshot struct {
	// Gateway is namespace/name.
	Gateway string `json:"gateway"`
	// Version grows with each change, over restarts of the control plane too:
	// it is the instant when the snapshot was made, in µs since 1970.
	Version   int64              `json:"version"`
	Listeners []Listener         `json:"listeners,omitempty"`
	Backends  map[string]Backend `json:"backends,omitempty"`
}

// Same tells whether two snapshots say the same, whatever their versions.
func (s *Snapshot) Same(other *Snapshot) bool {
	return s.Gateway == other.Gateway && reflect.DeepEqual(s.Listeners, other.Listeners) &&
		reflect.DeepEqual(s.Backends, other.Backends)
}

// Copy is a snapshot whose listeners, rules and backends can be replaced while
// the original stays as it is.
func (s *Snapshot) Copy() *Snapshot {
	c := *s
	c.Listeners = slices.Clone(s.Listeners)
	for i := range c.Listeners {
		c.Listeners[i].Rules = slices.Clone(c.Listeners[i].Rules)
	}
	c.Backends = maps.Clone(s.Backends)
	return &c
}

// Listener is the one of a name, or nil.
func (s *Snapshot) Listener(name string) *Listener {
	for i := range s.Listeners {
		if s.Listeners[i].Name == name {
			return &s.Listeners[i]
		}
	}
	return nil
}

// Routes are those that are served, by name, with their generations.
func (s *Snapshot) Routes() map[string]int64 {
	all := map[string]int64{}
	for i := range s.Listeners {
		for j := range s.Listeners[i].Rules {
			all[s.Listeners[i].Rules[j].Route] = s.Listeners[i].Rules[j].Generation
		}
	}
	return all
}

// A Listener is one that can be served: of the Gateway or of a ListenerSet.
type Listener struct {
	// Name is the listener's, behind "namespace/name/" of its ListenerSet.
	Name string `json:"name"`
	// Port is the listener's; replicas listen on ServingPort(Port).
	Port int32 `json:"port"`
	// Hostname may be empty, for all, or begin with "*.".
	Hostname string `json:"hostname,omitempty"`
	// TLS: the listener is one for HTTPS.
	TLS bool `json:"tls,omitempty"`
	// Passthrough: its connections go to backends as they are, by the name that
	// TLS's handshake begins with.
	Passthrough  bool          `json:"passthrough,omitempty"`
	Certificates []Certificate `json:"certificates,omitempty"`
	// Rules are of all routes attached, the oldest route first, and routes of
	// one age by namespace/name; the rules of a route as it has them.
	Rules []Rule `json:"rules,omitempty"`
}

// A Certificate is a chain and its key, both PEM.
type Certificate struct {
	Chain []byte `json:"chain"`
	Key   []byte `json:"key"`
}

// A Rule is one of a route's rules, as a listener serves it.
type Rule struct {
	// Route is namespace/name of an HTTPRoute, and kind/namespace/name of a
	// route of another kind; Generation is the route's.
	Route      string `json:"route"`
	Generation int64  `json:"generation"`
	// Hostnames are those that the route and the listener have in common;
	// none means all.
	Hostnames []string                     `json:"hostnames,omitempty"`
	Matches   []gatewayv1.HTTPRouteMatch   `json:"matches,omitempty"`
	Filters   []gatewayv1.HTTPRouteFilter  `json:"filters,omitempty"`
	Backends  []Weighted                   `json:"backends,omitempty"`
	Timeouts  *gatewayv1.HTTPRouteTimeouts `json:"timeouts,omitempty"`
	Retry     *gatewayv1.HTTPRouteRetry    `json:"retry,omitempty"`
}

// A Weighted backend takes its share of a rule's requests.
type Weighted struct {
	// Backend is a key of Snapshot.Backends. One that is not there could not
	// be resolved: its share of requests gets status 500.
	Backend string                      `json:"backend,omitempty"`
	Weight  int32                       `json:"weight"`
	Filters []gatewayv1.HTTPRouteFilter `json:"filters,omitempty"`
}

// A Backend is one port of a Service.
type Backend struct {
	// H2C: the Service says that it speaks HTTP/2 without TLS.
	H2C bool `json:"h2c,omitempty"`
	// Endpoints are those that are ready, sorted.
	Endpoints []netip.AddrPort `json:"endpoints,omitempty"`
}
