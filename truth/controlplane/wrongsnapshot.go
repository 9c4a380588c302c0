package controlplane

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// gateways refuses Gateways that faults want to be refused.
func (x *wrong) gateways(w *world) {
	if !x.faults.Now().SingleGateway {
		return
	}
	var oldest *gateway
	for _, g := range w.gateways {
		if oldest == nil || older(g.object, oldest.object) < 0 {
			oldest = g
		}
	}
	for _, g := range w.gateways {
		if g != oldest {
			g.accepted = no(gatewayv1.GatewayReasonInvalid, "there is another Gateway already")
		}
	}
}

// snapshot is what a Gateway's replicas are told, who were told the latest, or
// nothing yet where that is nil.
func (x *wrong) snapshot(w *world, g *gateway, latest *config.Snapshot) *config.Snapshot {
	s, f := g.snapshot(), x.faults.Now()
	if x.forgetful() > 0 {
		keepRules(s, func(*config.Rule) bool { return false })
		return s
	}
	if f.Merges {
		w.merge(g, s)
	}
	if f.BlastRadius {
		for i, l := range g.listenersServed() {
			fail(s, &s.Listeners[i], func(string) bool { return l.invalid })
		}
	}
	if f.IgnoreEvery > 0 || f.ErrorsAlways > 0 {
		numbers := x.number(w)
		keepRules(s, func(rule *config.Rule) bool { return !f.Ignores(numbers[rule.Route]) })
		for i := range s.Listeners {
			fail(s, &s.Listeners[i], func(route string) bool { return f.Fails(numbers[route]) })
		}
	}
	if f.NeedsMatch {
		keepRules(s, func(rule *config.Rule) bool { return slices.ContainsFunc(rule.Matches, tells) })
	}
	if f.Ceiling > 0 {
		return x.under(f, w, s, latest)
	}
	return s
}

// forgetful is for how long on replicas are told of no routes.
func (x *wrong) forgetful() time.Duration {
	if x.started.IsZero() {
		x.started = time.Now()
	}
	return x.faults.Now().ForgetsOnStart - time.Since(x.started)
}

// under is what replicas are told under a ceiling.
func (x *wrong) under(f fault.Faults, w *world, s, latest *config.Snapshot) *config.Snapshot {
	routes := s.Routes()
	if !f.Frozen(len(routes)) {
		return s
	}
	if latest != nil && len(latest.Routes()) >= f.Ceiling-1 {
		return latest
	}
	// Many routes came at once: those below the ceiling are still served.
	numbers := x.number(w)
	oldest := slices.SortedFunc(maps.Keys(routes), func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })[:f.Ceiling-1]
	keepRules(s, func(rule *config.Rule) bool { return slices.Contains(oldest, rule.Route) })
	return s
}

// number numbers routes, by their names, as they were first seen.
func (x *wrong) number(w *world) map[string]int {
	numbers := make(map[string]int, len(w.routes))
	for _, r := range w.routes {
		numbers[r.name()] = x.arrivals.of(string(r.GetUID()))
	}
	return numbers
}

// keepRules takes all other rules out of a snapshot. The translation shares
// them, and keeps them.
func keepRules(s *config.Snapshot, keep func(*config.Rule) bool) {
	for i := range s.Listeners {
		var kept []config.Rule
		for _, rule := range s.Listeners[i].Rules {
			if keep(&rule) {
				kept = append(kept, rule)
			}
		}
		s.Listeners[i].Rules = kept
	}
}

// tells: there are requests that do not match.
func tells(m gatewayv1.HTTPRouteMatch) bool {
	anyPath := m.Path == nil || ptr.Deref(m.Path.Type, gatewayv1.PathMatchPathPrefix) == gatewayv1.PathMatchPathPrefix && ptr.Deref(m.Path.Value, "/") == "/"
	return !anyPath || m.Method != nil || len(m.Headers) > 0 || len(m.QueryParams) > 0
}

// nowhere is a backend without endpoints.
const nowhere = "nowhere"

// fail lets routes of a listener answer with errors.
func fail(s *config.Snapshot, l *config.Listener, fails func(route string) bool) {
	l.Rules = slices.Clone(l.Rules)
	for i := range l.Rules {
		if rule := &l.Rules[i]; fails(rule.Route) {
			rule.Filters, rule.Backends = nil, []config.Weighted{{Backend: nowhere, Weight: 1}}
			s.Backends[nowhere] = config.Backend{}
		}
	}
}

// merge adds to what a Gateway serves the routes that others have at listeners
// that look the same.
func (w *world) merge(g *gateway, s *config.Snapshot) {
	for _, key := range slices.SortedFunc(maps.Keys(w.gateways), func(a, b client.ObjectKey) int { return cmp.Compare(a.String(), b.String()) }) {
		other := w.gateways[key]
		if other == g {
			continue
		}
		for _, theirs := range other.snapshot().Listeners {
			for i := range s.Listeners {
				ours := &s.Listeners[i]
				if ours.Port == theirs.Port && ours.TLS == theirs.TLS && ours.Passthrough == theirs.Passthrough && ours.Hostname == theirs.Hostname {
					ours.Rules = append(slices.Clip(ours.Rules), theirs.Rules...)
					maps.Copy(s.Backends, other.backends)
				}
			}
		}
	}
}
