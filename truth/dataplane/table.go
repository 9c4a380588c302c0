package dataplane

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/truth/config"
)

// A table is a snapshot made ready to serve. It does not change.
type table struct {
	version int64
	ports   map[int32]*port
	routes  map[string]int64 // generation by route
	lives   map[string]*life // of the routes, once it is in force

	backends map[string]config.Backend // as they were told
}

// A portKind is what a replica does with the connections of a port.
type portKind uint8

const (
	plainPort  portKind = iota
	securePort          // TLS ends here
	passedPort          // TLS is passed through
)

func kindOf(l *config.Listener) portKind {
	switch {
	case l.Passthrough:
		return passedPort
	case l.TLS:
		return securePort
	}
	return plainPort
}

// A port serves the listeners that share it, which are of one kind.
type port struct {
	number    int32 // of the listeners, not where the replica listens
	kind      portKind
	listeners []*listener // most specific hostname first
}

type listener struct {
	hostname     string
	certificates []tls.Certificate
	// hosts has the entries for a pattern of hostname, best first.
	hosts map[string][]*entry
	rules []*rule
}

// An entry is one match of one rule.
type entry struct {
	match
	rule *rule
	// order is the rule's place in the listener: older routes first.
	order int
}

// compile returns an error for what the control plane should not have sent: a
// certificate or an expression that cannot be read.
func compile(s *config.Snapshot) (*table, error) {
	t := &table{version: s.Version, ports: map[int32]*port{}, routes: s.Routes(), lives: map[string]*life{}, backends: s.Backends}
	backends := map[string]*backend{}
	for key, b := range s.Backends {
		backends[key] = newBackend(b)
	}
	for i := range s.Listeners {
		l := &s.Listeners[i]
		p := t.ports[l.Port]
		if p == nil {
			p = &port{number: l.Port, kind: kindOf(l)}
			t.ports[l.Port] = p
		}
		if p.kind != kindOf(l) {
			return nil, fmt.Errorf("listener %s: port %d has a listener of another protocol", l.Name, l.Port)
		}
		compiled, err := compileListener(l, backends)
		if err != nil {
			return nil, fmt.Errorf("listener %s: %w", l.Name, err)
		}
		p.listeners = append(p.listeners, compiled)
	}
	for _, p := range t.ports {
		slices.SortStableFunc(p.listeners, func(a, b *listener) int { return specific(a.hostname, b.hostname) })
	}
	return t, nil
}

func specific(a, b string) int {
	switch {
	case config.MoreSpecific(a, b):
		return -1
	case config.MoreSpecific(b, a):
		return 1
	}
	return 0
}

func compileListener(from *config.Listener, backends map[string]*backend) (*listener, error) {
	l := &listener{hostname: from.Hostname, hosts: map[string][]*entry{}}
	for _, c := range from.Certificates {
		certificate, err := tls.X509KeyPair(c.Chain, c.Key)
		if err != nil {
			return nil, err
		}
		l.certificates = append(l.certificates, certificate)
	}
	for i := range from.Rules {
		r, err := compileRule(&from.Rules[i], backends)
		if err != nil {
			return nil, fmt.Errorf("route %s: %w", from.Rules[i].Route, err)
		}
		l.rules = append(l.rules, r)
		matches, err := compileMatches(from.Rules[i].Matches)
		if err != nil {
			return nil, fmt.Errorf("route %s: %w", from.Rules[i].Route, err)
		}
		patterns := from.Rules[i].Hostnames
		if len(patterns) == 0 {
			patterns = []string{""}
		}
		for _, pattern := range patterns {
			for _, m := range matches {
				l.hosts[pattern] = append(l.hosts[pattern], &entry{match: m, rule: r, order: i})
			}
		}
	}
	for _, entries := range l.hosts {
		slices.SortStableFunc(entries, func(a, b *entry) int {
			return cmp.Or(a.match.compare(&b.match), cmp.Compare(a.order, b.order))
		})
	}
	return l, nil
}

// listener is the one with the most specific hostname for a host, or nil.
func (p *port) listener(host string) *listener {
	for _, l := range p.listeners {
		if config.MatchHost(l.hostname, host) {
			return l
		}
	}
	return nil
}

// find returns the best entry for a request, or nil: hosts go before
// everything else, the more specific first, then what match.compare says.
func (l *listener) find(q *query) *entry {
	if e := first(l.hosts[q.host], q); e != nil {
		return e
	}
	for rest := q.host; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			return first(l.hosts[""], q)
		}
		if e := first(l.hosts["*."+after], q); e != nil {
			return e
		}
		rest = after
	}
}

func first(entries []*entry, q *query) *entry {
	for _, e := range entries {
		if e.match.matches(q) {
			return e
		}
	}
	return nil
}
