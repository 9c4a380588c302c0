package dataplane

import (
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// A keeper lays over the configurations of a replica what faults make it hold
// on to, each for its time. Without faults it hands them on as they are.
type keeper struct {
	last *config.Snapshot
	kept []kept
}

// A kept piece of an old configuration.
type kept struct {
	until time.Time
	over  func(*config.Snapshot)
}

// got takes a configuration, and notes what of the one before goes on.
func (k *keeper) got(s *config.Snapshot, f fault.Faults, now time.Time) {
	before := k.last
	if before == nil {
		k.last = s
		k.keep(now, f.ReadyEarly, withoutRules)
		return
	}
	k.last = withoutUpdates(f.IgnoresUpdate, before, s)
	k.keep(now, f.KeepsDeleted, deletedOf(before, s))
	k.keep(now, f.StaleEndpoint, goneOf(before, s))
	k.keep(now, f.CertificateLate, certificatesOf(before, s))
}

// keep holds on to a piece, which is nil where there is none.
func (k *keeper) keep(now time.Time, d time.Duration, over func(*config.Snapshot)) {
	if d > 0 && over != nil {
		k.kept = append(k.kept, kept{now.Add(d), over})
	}
}

// at is what is served at an instant, and until when, if that is known.
func (k *keeper) at(now time.Time) (s *config.Snapshot, until time.Time) {
	k.kept = slices.DeleteFunc(k.kept, func(p kept) bool { return !now.Before(p.until) })
	if len(k.kept) == 0 {
		return k.last, time.Time{}
	}
	s, until = k.last.Copy(), k.kept[0].until
	for _, p := range k.kept {
		p.over(s)
		if p.until.Before(until) {
			until = p.until
		}
	}
	return s, until
}

func withoutRules(s *config.Snapshot) {
	for i := range s.Listeners {
		s.Listeners[i].Rules = nil
	}
}

// deletedOf puts back routes that were deleted, unless they come again.
func deletedOf(before, after *config.Snapshot) func(*config.Snapshot) {
	gone := before.Routes()
	for route := range after.Routes() {
		delete(gone, route)
	}
	if len(gone) == 0 {
		return nil
	}
	return func(s *config.Snapshot) {
		now := s.Routes()
		for _, old := range before.Listeners {
			l := s.Listener(old.Name)
			for _, rule := range old.Rules {
				if l != nil && gone[rule.Route] != 0 && now[rule.Route] == 0 {
					l.Rules = append(l.Rules, rule)
					putBack(s, before, rule)
				}
			}
		}
	}
}

// putBack adds the backends of an old rule.
func putBack(s, before *config.Snapshot, rule config.Rule) {
	for _, w := range rule.Backends {
		b, had := before.Backends[w.Backend]
		if _, has := s.Backends[w.Backend]; !had || has {
			continue
		}
		if s.Backends == nil {
			s.Backends = map[string]config.Backend{}
		}
		s.Backends[w.Backend] = b
	}
}

// goneOf puts back endpoints that are gone from backends that are still there.
func goneOf(before, after *config.Snapshot) func(*config.Snapshot) {
	gone := map[string][]netip.AddrPort{}
	for name, b := range before.Backends {
		for _, e := range b.Endpoints {
			if !slices.Contains(after.Backends[name].Endpoints, e) {
				gone[name] = append(gone[name], e)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return func(s *config.Snapshot) {
		for name, endpoints := range gone {
			b, ok := s.Backends[name]
			if !ok {
				continue
			}
			b.Endpoints = slices.Clone(b.Endpoints)
			for _, e := range endpoints {
				if !slices.Contains(b.Endpoints, e) {
					b.Endpoints = append(b.Endpoints, e)
				}
			}
			s.Backends[name] = b
		}
	}
}

// certificatesOf puts back certificates that were replaced.
func certificatesOf(before, after *config.Snapshot) func(*config.Snapshot) {
	replaced := map[string][]config.Certificate{}
	for _, l := range before.Listeners {
		if next := after.Listener(l.Name); next != nil && l.TLS && !reflect.DeepEqual(l.Certificates, next.Certificates) {
			replaced[l.Name] = l.Certificates
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	return func(s *config.Snapshot) {
		for name, certificates := range replaced {
			if l := s.Listener(name); l != nil && l.TLS {
				l.Certificates = certificates
			}
		}
	}
}

// updates are the kinds of change that can be ignored, as what of an old rule
// stays.
var updates = map[string]func(rule *config.Rule, was config.Rule){
	"header":  func(rule *config.Rule, was config.Rule) { rule.Filters = was.Filters },
	"match":   func(rule *config.Rule, was config.Rule) { rule.Matches = was.Matches },
	"host":    func(rule *config.Rule, was config.Rule) { rule.Hostnames = was.Hostnames },
	"backend": func(rule *config.Rule, was config.Rule) { rule.Backends = was.Backends },
	"weight": func(rule *config.Rule, was config.Rule) {
		rule.Backends = slices.Clone(rule.Backends)
		for i := range min(len(rule.Backends), len(was.Backends)) {
			rule.Backends[i].Weight = was.Backends[i].Weight
		}
	},
}

// withoutUpdates takes back a kind of change to rules. A rule of which
// something is taken back is still of its old generation.
func withoutUpdates(kind string, before, after *config.Snapshot) *config.Snapshot {
	restore := updates[kind]
	if restore == nil {
		return after
	}
	s := after.Copy()
	for i := range s.Listeners {
		old := map[string][]config.Rule{}
		if l := before.Listener(s.Listeners[i].Name); l != nil {
			for _, rule := range l.Rules {
				old[rule.Route] = append(old[rule.Route], rule)
			}
		}
		for j := range s.Listeners[i].Rules {
			rule := &s.Listeners[i].Rules[j]
			if len(old[rule.Route]) == 0 {
				continue
			}
			was := old[rule.Route][0]
			old[rule.Route] = old[rule.Route][1:]
			updated := *rule
			if restore(rule, was); !reflect.DeepEqual(updated, *rule) {
				rule.Generation = was.Generation
				putBack(s, before, *rule)
			}
		}
	}
	return s
}
