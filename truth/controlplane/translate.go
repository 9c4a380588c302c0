package controlplane

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// A world is one translation: the objects, found quickly, and what they come
// to.
type world struct {
	*Objects
	namespaces map[string]labels.Set
	services   map[client.ObjectKey]*corev1.Service
	slices     map[client.ObjectKey][]*discoveryv1.EndpointSlice
	secrets    map[client.ObjectKey]*corev1.Secret
	grants     map[string][]*gatewayv1.ReferenceGrant // by their namespace

	gateways map[client.ObjectKey]*gateway
	sets     map[client.ObjectKey]*listenerSet
	routes   []*declared // those that are not being deleted, the oldest first
	statuses []status
}

// A gateway is one of ours.
type gateway struct {
	object    *gatewayv1.Gateway
	accepted  verdict
	listeners []*listener // its own, then those of its sets
	sets      []*listenerSet
	backends  map[string]config.Backend
	told      *config.Snapshot // what its replicas know
	placed    Placed
}

// translate finds out what each Gateway serves. What a Gateway's status says
// waits for its data plane: see world.conclude.
func translate(o *Objects, pairs *pairs) *world {
	w := &world{Objects: o, gateways: map[client.ObjectKey]*gateway{}, sets: map[client.ObjectKey]*listenerSet{}}
	w.index()
	classes := w.judgeClasses()
	for i := range o.Gateways.Items {
		if g := &o.Gateways.Items[i]; classes[string(g.Spec.GatewayClassName)] && g.DeletionTimestamp == nil {
			w.gateways[client.ObjectKeyFromObject(g)] = &gateway{object: g, backends: map[string]config.Backend{}}
		}
	}
	w.gatherListeners()
	for _, g := range w.gateways {
		w.judgeListeners(g, pairs)
		g.judge()
	}
	w.judgeRoutes()
	return w
}

func (w *world) index() {
	w.namespaces = map[string]labels.Set{}
	for i := range w.Namespaces.Items {
		w.namespaces[w.Namespaces.Items[i].Name] = w.Namespaces.Items[i].Labels
	}
	w.services = byKey(w.Services.Items)
	w.secrets = byKey(w.Secrets.Items)
	w.slices = map[client.ObjectKey][]*discoveryv1.EndpointSlice{}
	for i := range w.Slices.Items {
		s := &w.Slices.Items[i]
		key := client.ObjectKey{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
		w.slices[key] = append(w.slices[key], s)
	}
	w.grants = map[string][]*gatewayv1.ReferenceGrant{}
	for i := range w.Grants.Items {
		g := &w.Grants.Items[i]
		w.grants[g.Namespace] = append(w.grants[g.Namespace], g)
	}
}

func byKey[T any, P interface {
	*T
	client.Object
}](items []T) map[client.ObjectKey]P {
	index := make(map[client.ObjectKey]P, len(items))
	for i := range items {
		object := P(&items[i])
		index[client.ObjectKeyFromObject(object)] = object
	}
	return index
}

// older orders objects as the Gateway API breaks ties: by age, then by name.
func older(a, b client.Object) int {
	return cmp.Or(
		a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName()),
	)
}

// judge says whether a Gateway is accepted.
func (g *gateway) judge() {
	g.accepted = yes(string(gatewayv1.GatewayReasonAccepted))
	if len(g.object.Spec.Addresses) > 0 {
		g.accepted = no(gatewayv1.GatewayReasonUnsupportedAddress, "addresses cannot be asked for")
	}
	if i := g.object.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
		g.accepted = no(gatewayv1.GatewayReasonInvalidParameters, "there are no parameters")
	}
	if !g.accepted.ok {
		return
	}
	valid, programmed, own := 0, 0, 0
	for _, l := range g.listeners {
		if l.set != nil {
			continue
		}
		own++
		if l.valid() {
			valid++
		}
		if l.served() {
			programmed++
		}
	}
	switch {
	case valid == 0:
		g.accepted = no(gatewayv1.GatewayReasonListenersNotValid, "no listener is valid")
	case programmed < own:
		g.accepted = verdict{ok: true, reason: string(gatewayv1.GatewayReasonListenersNotValid), message: "some listeners are not valid"}
	}
}

// snapshot is what the Gateway's replicas serve.
func (g *gateway) snapshot() *config.Snapshot {
	s := &config.Snapshot{
		Gateway: client.ObjectKeyFromObject(g.object).String(), Version: time.Now().UnixMicro(), Backends: g.backends,
	}
	for _, l := range g.listenersServed() {
		s.Listeners = append(s.Listeners, l.config())
	}
	return s
}

func (g *gateway) listenersServed() []*listener {
	if !g.accepted.ok {
		return nil
	}
	var all []*listener
	for _, l := range g.listeners {
		if l.served() {
			all = append(all, l)
		}
	}
	return all
}

// ports are those of all listeners that are served, sorted.
func ports(s *config.Snapshot) []int32 {
	var all []int32
	for i := range s.Listeners {
		all = append(all, s.Listeners[i].Port)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func group[G ~string](g *G, otherwise string) string { return string(ptr.Deref(g, G(otherwise))) }
