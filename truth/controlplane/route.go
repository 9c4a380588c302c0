package controlplane

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// judgeRoutes attaches routes to listeners, the oldest first, and says in
// their statuses what came of it.
func (w *world) judgeRoutes() {
	w.routes = w.declaredRoutes()
	slices.SortFunc(w.routes, func(a, b *declared) int { return older(a, b) })
	for _, object := range w.routes {
		var wanted []gatewayv1.RouteParentStatus
		var r *route // translated when the first parent is ours
		for _, ref := range object.spec.ParentRefs {
			p := w.parent(object.GetNamespace(), ref)
			if p == nil {
				continue
			}
			if r == nil {
				r = w.route(object)
			}
			wanted = append(wanted, w.attach(r, p))
		}
		if wanted != nil || saidAnything(object) {
			w.statuses = append(w.statuses, routeStatus(object.Object, wanted))
		}
	}
}

func saidAnything(object *declared) bool {
	return slices.ContainsFunc(object.status.Parents, func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName == Name })
}

// A parent is a parentRef to a Gateway of ours, or to a ListenerSet of one.
type parent struct {
	ref       gatewayv1.ParentReference
	gateway   *gateway
	listeners []*listener
}

func (w *world) parent(namespace string, ref gatewayv1.ParentReference) *parent {
	if group(ref.Group, gatewayv1.GroupName) != gatewayv1.GroupName {
		return nil
	}
	key := client.ObjectKey{Namespace: group(ref.Namespace, namespace), Name: string(ref.Name)}
	switch group(ref.Kind, "Gateway") {
	case "Gateway":
		if g := w.gateways[key]; g != nil {
			return &parent{ref, g, g.listeners[:len(g.object.Spec.Listeners)]}
		}
	case "ListenerSet":
		if s := w.sets[key]; s != nil {
			return &parent{ref, s.gateway, s.listeners}
		}
	}
	return nil
}

// A route is one that some Gateway of ours is a parent of.
type route struct {
	object             *declared
	hostnames          []string
	rules              []config.Rule
	backends           map[string]config.Backend
	accepted, resolved verdict
	// dropped is why some of its rules are not served, or nil.
	dropped *verdict
}

func (w *world) route(object *declared) *route {
	r := &route{object: object, backends: map[string]config.Backend{}, accepted: yes(string(gatewayv1.RouteReasonAccepted)),
		resolved: yes(string(gatewayv1.RouteReasonResolvedRefs))}
	for _, h := range object.hostnames {
		r.hostnames = append(r.hostnames, string(h))
	}
	rules := object.rules()
	for i := range rules {
		rule := &rules[i]
		if v := judgeRule(rule); !v.ok {
			v.message = fmt.Sprintf("rule %d: %s", i, v.message)
			r.dropped = &v
			continue
		}
		r.rules = append(r.rules, w.rule(r, rule))
	}
	if len(r.rules) == 0 && r.dropped != nil {
		r.accepted, r.dropped = *r.dropped, nil
	}
	return r
}

func (w *world) rule(r *route, from *gatewayv1.HTTPRouteRule) config.Rule {
	rule := config.Rule{
		Route: r.object.name(), Generation: r.object.GetGeneration(),
		Matches: from.Matches, Filters: from.Filters, Timeouts: from.Timeouts, Retry: from.Retry,
	}
	for i := range from.BackendRefs {
		ref := &from.BackendRefs[i]
		weighted := config.Weighted{Weight: ptr.Deref(ref.Weight, 1), Filters: ref.Filters}
		name, backend, v := w.backend(reference{r.object.kind, r.object.GetNamespace()}, ref.BackendObjectReference)
		if v.ok {
			weighted.Backend = name
			r.backends[name] = backend
		} else if r.resolved.ok {
			r.resolved = v
		}
		rule.Backends = append(rule.Backends, weighted)
	}
	return rule
}

// attach gives a parent's listeners the route's rules, and says what came of it.
func (w *world) attach(r *route, p *parent) gatewayv1.RouteParentStatus {
	accepted := r.accepted
	found, v := w.find(r, p)
	if !v.ok {
		accepted = v
	}
	conditions := []metav1.Condition{
		accepted.condition(string(gatewayv1.RouteConditionAccepted), r.object.GetGeneration()),
		r.resolved.condition(string(gatewayv1.RouteConditionResolvedRefs), r.object.GetGeneration()),
	}
	if r.dropped != nil && accepted.ok {
		d := *r.dropped
		d.ok = true
		conditions = append(conditions, d.condition(string(gatewayv1.RouteConditionPartiallyInvalid), r.object.GetGeneration()))
	}
	for l := range found {
		l.invalid = l.invalid || !r.accepted.ok || !r.resolved.ok || r.dropped != nil
	}
	if accepted.ok {
		for l, hosts := range found {
			l.take(r, hosts)
		}
		for name, backend := range r.backends {
			p.gateway.backends[name] = backend
		}
	}
	return gatewayv1.RouteParentStatus{ParentRef: p.ref, ControllerName: Name, Conditions: conditions}
}

// take attaches a route; one that comes to the listener by two parentRefs
// counts once.
func (l *listener) take(r *route, hosts []string) {
	name := r.object.name()
	if l.last == name {
		return
	}
	l.last = name
	l.attached++
	l.hosts[r.object.kind] = append(l.hosts[r.object.kind], hosts)
	for _, rule := range r.rules {
		rule.Hostnames = hosts
		l.rules = append(l.rules, rule)
	}
}

// find returns the listeners of a parent that a route attaches to, with the
// hosts that they have in common, or why there are none.
func (w *world) find(r *route, p *parent) (map[*listener][]string, verdict) {
	found := map[*listener][]string{}
	named, allowed, taken := false, false, false
	for _, l := range p.listeners {
		if p.ref.SectionName != nil && *p.ref.SectionName != l.spec.Name || p.ref.Port != nil && *p.ref.Port != l.spec.Port {
			continue
		}
		named = true
		if !w.allowsRoute(l, r.object) {
			continue
		}
		allowed = true
		if hosts, ok := config.Intersect(l.hostname(), r.hostnames); !ok {
			continue
		} else if taken = l.taken(r.object.kind, hosts); !taken {
			found[l] = hosts
		}
	}
	switch {
	case !named:
		return nil, no(gatewayv1.RouteReasonNoMatchingParent, "the parent has no such listener")
	case !allowed:
		return nil, no(gatewayv1.RouteReasonNotAllowedByListeners, "no listener allows the route")
	case len(found) == 0 && taken:
		return nil, no(gatewayv1.RouteReasonNotAllowedByListeners, "an older route of another kind has a hostname of the route")
	case len(found) == 0:
		return nil, no(gatewayv1.RouteReasonNoMatchingListenerHostname, "no listener has a hostname of the route")
	}
	return found, verdict{ok: true}
}

// taken reports whether an older route of another kind has one of the hosts:
// of an HTTPRoute and a GRPCRoute that share one only the older is accepted.
func (l *listener) taken(kind string, hosts []string) bool {
	for other, all := range l.hosts {
		if other != kind && slices.ContainsFunc(all, func(had []string) bool { return shareHost(had, hosts) }) {
			return true
		}
	}
	return false
}

// shareHost reports whether a host is among both; no hosts are all.
func shareHost(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(host string) bool {
		_, ok := config.Intersect(host, b)
		return ok
	})
}

func (w *world) allowsRoute(l *listener, route *declared) bool {
	if !slices.ContainsFunc(l.kinds, func(k gatewayv1.RouteGroupKind) bool { return string(k.Kind) == route.kind }) {
		return false
	}
	from, selector := gatewayv1.NamespacesFromSame, (*metav1.LabelSelector)(nil)
	if l.spec.AllowedRoutes != nil && l.spec.AllowedRoutes.Namespaces != nil {
		from = ptr.Deref(l.spec.AllowedRoutes.Namespaces.From, from)
		selector = l.spec.AllowedRoutes.Namespaces.Selector
	}
	return w.allows(from, selector, l.owner.GetNamespace(), route.GetNamespace())
}
