package controlplane

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// A listenerSet belongs to a Gateway of ours.
type listenerSet struct {
	object    *gatewayv1.ListenerSet
	gateway   *gateway
	allowed   bool
	listeners []*listener // none where it is not allowed
}

// A listener is a Gateway's own, or one of a ListenerSet's.
type listener struct {
	spec gatewayv1.Listener
	// owner is the Gateway or ListenerSet; set is nil for a Gateway's.
	owner client.Object
	set   *listenerSet

	kinds              []gatewayv1.RouteGroupKind
	accepted, resolved verdict
	conflict           *verdict // nil for none
	overlaps           bool
	certificates       []config.Certificate
	attached           int32
	last               string                // the route that was attached last
	hosts              map[string][][]string // those of the routes attached, by kind
	invalid            bool                  // some route that is for it is not valid
	rules              []config.Rule
}

func newListener(owner client.Object, spec gatewayv1.Listener) *listener {
	return &listener{spec: spec, owner: owner, hosts: map[string][][]string{}}
}

func (l *listener) hostname() string { return string(ptr.Deref(l.spec.Hostname, "")) }

// valid: a data plane could serve it, if what it refers to were there.
func (l *listener) valid() bool { return l.accepted.ok && l.conflict == nil }

// served: it has all that it needs.
func (l *listener) served() bool {
	return l.valid() && (l.spec.Protocol != gatewayv1.HTTPSProtocolType || len(l.certificates) > 0)
}

func (l *listener) config() config.Listener {
	name := string(l.spec.Name)
	if l.set != nil {
		name = client.ObjectKeyFromObject(l.owner).String() + "/" + name
	}
	return config.Listener{
		Name: name, Port: int32(l.spec.Port), Hostname: l.hostname(),
		TLS: l.spec.Protocol == gatewayv1.HTTPSProtocolType, Passthrough: l.spec.Protocol == gatewayv1.TLSProtocolType,
		Certificates: l.certificates, Rules: l.rules,
	}
}

// gatherListeners gives Gateways their listeners, those of sets behind their
// own, the oldest set first.
func (w *world) gatherListeners() {
	for _, g := range w.gateways {
		for _, spec := range g.object.Spec.Listeners {
			g.listeners = append(g.listeners, newListener(g.object, spec))
		}
	}
	var sorted []*gatewayv1.ListenerSet
	for i := range w.Sets.Items {
		if w.Sets.Items[i].DeletionTimestamp == nil {
			sorted = append(sorted, &w.Sets.Items[i])
		}
	}
	slices.SortFunc(sorted, func(a, b *gatewayv1.ListenerSet) int { return older(a, b) })
	for _, object := range sorted {
		parent := object.Spec.ParentRef
		if group(parent.Group, gatewayv1.GroupName) != gatewayv1.GroupName || group(parent.Kind, "Gateway") != "Gateway" {
			continue
		}
		g := w.gateways[client.ObjectKey{Namespace: group(parent.Namespace, object.Namespace), Name: string(parent.Name)}]
		if g == nil {
			continue
		}
		set := &listenerSet{object: object, gateway: g, allowed: w.allowsSet(g.object, object.Namespace)}
		w.sets[client.ObjectKeyFromObject(object)] = set
		g.sets = append(g.sets, set)
		if !set.allowed {
			continue
		}
		for _, entry := range object.Spec.Listeners {
			l := newListener(object, gatewayv1.Listener{
				Name: entry.Name, Hostname: entry.Hostname, Port: entry.Port, Protocol: entry.Protocol, TLS: entry.TLS, AllowedRoutes: entry.AllowedRoutes,
			})
			l.set = set
			set.listeners = append(set.listeners, l)
		}
		g.listeners = append(g.listeners, set.listeners...)
	}
}

func (w *world) allowsSet(g *gatewayv1.Gateway, namespace string) bool {
	if g.Spec.AllowedListeners == nil || g.Spec.AllowedListeners.Namespaces == nil {
		return false
	}
	from := g.Spec.AllowedListeners.Namespaces
	return w.allows(ptr.Deref(from.From, gatewayv1.NamespacesFromNone), from.Selector, g.Namespace, namespace)
}

// allows tells whether an owner lets in what is in a namespace.
func (w *world) allows(from gatewayv1.FromNamespaces, selector *metav1.LabelSelector, owner, namespace string) bool {
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return owner == namespace
	case gatewayv1.NamespacesFromSelector:
		s, err := metav1.LabelSelectorAsSelector(selector)
		// The API server checks selectors: one that cannot be read selects nothing.
		return err == nil && s.Matches(labels.Set(w.namespaces[namespace]))
	}
	return false
}

func (w *world) judgeListeners(g *gateway, pairs *pairs) {
	for _, l := range g.listeners {
		l.judge()
		if l.spec.Protocol == gatewayv1.HTTPSProtocolType {
			w.findCertificates(l, pairs)
		}
	}
	findConflicts(g.listeners)
	findOverlaps(g.listeners)
}

// kindsOf are the kinds of route that listeners of a protocol have.
var kindsOf = map[gatewayv1.ProtocolType][]string{
	gatewayv1.HTTPProtocolType:  {kindHTTP, kindGRPC},
	gatewayv1.HTTPSProtocolType: {kindHTTP, kindGRPC},
	gatewayv1.TLSProtocolType:   {kindTLS},
}

// judge looks at a listener alone.
func (l *listener) judge() {
	l.accepted = yes(string(gatewayv1.ListenerReasonAccepted))
	l.resolved = yes(string(gatewayv1.ListenerReasonResolvedRefs))
	l.kinds = []gatewayv1.RouteGroupKind{}
	supported := kindsOf[l.spec.Protocol]
	if supported == nil {
		l.accepted = no(gatewayv1.ListenerReasonUnsupportedProtocol, fmt.Sprintf("protocol %s is not supported", l.spec.Protocol))
		return
	}
	if l.spec.Protocol == gatewayv1.TLSProtocolType && !passes(l.spec.TLS) {
		l.accepted = no(gatewayv1.ListenerReasonUnsupportedValue, "TLS is not terminated for TLSRoutes")
		return
	}
	if l.spec.Port > config.LastPort {
		l.accepted = no(gatewayv1.ListenerReasonPortUnavailable, fmt.Sprintf("ports above %d are not served", config.LastPort))
	}
	if l.spec.AllowedRoutes == nil || len(l.spec.AllowedRoutes.Kinds) == 0 {
		for _, kind := range supported {
			l.allow(kind)
		}
		return
	}
	for _, kind := range l.spec.AllowedRoutes.Kinds {
		if group(kind.Group, gatewayv1.GroupName) != gatewayv1.GroupName || !slices.Contains(supported, string(kind.Kind)) {
			l.resolved = no(gatewayv1.ListenerReasonInvalidRouteKinds, fmt.Sprintf("routes of kind %s are not supported", kind.Kind))
		} else {
			l.allow(string(kind.Kind))
		}
	}
}

func passes(t *gatewayv1.ListenerTLSConfig) bool {
	return t != nil && ptr.Deref(t.Mode, gatewayv1.TLSModeTerminate) == gatewayv1.TLSModePassthrough
}

func (l *listener) allow(kind string) {
	if !slices.ContainsFunc(l.kinds, func(k gatewayv1.RouteGroupKind) bool { return string(k.Kind) == kind }) {
		l.kinds = append(l.kinds, gatewayv1.RouteGroupKind{Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)), Kind: gatewayv1.Kind(kind)})
	}
}

// findConflicts marks listeners that no traffic could be told to belong to. Of
// a Gateway's own all that conflict do, unless they are not served anyway; one
// of a set gives way to those before it that are valid.
func findConflicts(listeners []*listener) {
	for i, l := range listeners {
		for j, other := range listeners {
			if l.set == nil && !l.accepted.ok || i == j || l.set == nil && other.set != nil || l.set != nil && (j > i || other.conflict != nil) || !other.accepted.ok {
				continue
			}
			if v := conflict(&l.spec, &other.spec); v != nil {
				l.conflict = v
				break
			}
		}
	}
}

func conflict(a, b *gatewayv1.Listener) *verdict {
	switch {
	case a.Port != b.Port:
		return nil
	case a.Protocol != b.Protocol:
		v := no(gatewayv1.ListenerReasonProtocolConflict, fmt.Sprintf("port %d is also one for %s", a.Port, b.Protocol))
		return &v
	case ptr.Deref(a.Hostname, "") == ptr.Deref(b.Hostname, ""):
		v := no(gatewayv1.ListenerReasonHostnameConflict, fmt.Sprintf("port %d has another listener for hostname %q", a.Port, ptr.Deref(a.Hostname, "")))
		return &v
	}
	return nil
}

// findOverlaps marks listeners for HTTPS that share hosts on a port: a browser
// that reuses a connection then talks to the wrong one.
func findOverlaps(listeners []*listener) {
	for _, a := range listeners {
		for _, b := range listeners {
			if a != b && a.valid() && b.valid() && a.spec.Port == b.spec.Port && a.spec.Protocol == gatewayv1.HTTPSProtocolType {
				_, common := config.Intersect(a.hostname(), []string{b.hostname()})
				a.overlaps = a.overlaps || common || b.hostname() == ""
			}
		}
	}
}
