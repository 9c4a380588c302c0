package controlplane

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"
)

// A status is what the status of an object should say.
type status struct {
	// object is as it was translated.
	object client.Object
	// wanted is a plain value: equal ones say the same.
	wanted any
	// into puts it into a copy of the object as it is now.
	into func(client.Object)
}

// judgeClasses returns our GatewayClasses that are accepted.
func (w *world) judgeClasses() map[string]bool {
	ours := map[string]bool{}
	supported := w.supported()
	for i := range w.Classes.Items {
		class := &w.Classes.Items[i]
		if class.Spec.ControllerName != Name {
			continue
		}
		accepted := yes(string(gatewayv1.GatewayClassReasonAccepted))
		if class.Spec.ParametersRef != nil {
			accepted = no(gatewayv1.GatewayClassReasonInvalidParameters, "there are no parameters")
		}
		ours[class.Name] = accepted.ok
		wanted := gatewayv1.GatewayClassStatus{Conditions: []metav1.Condition{
			accepted.condition(string(gatewayv1.GatewayClassConditionStatusAccepted), class.Generation),
			supported.condition(string(gatewayv1.GatewayClassConditionStatusSupportedVersion), class.Generation),
		}}
		for _, name := range Features {
			wanted.SupportedFeatures = append(wanted.SupportedFeatures, gatewayv1.SupportedFeature{Name: gatewayv1.FeatureName(name)})
		}
		slices.SortFunc(wanted.SupportedFeatures, func(a, b gatewayv1.SupportedFeature) int {
			return strings.Compare(string(a.Name), string(b.Name))
		})
		w.statuses = append(w.statuses, status{class, wanted, func(o client.Object) {
			now := &o.(*gatewayv1.GatewayClass).Status
			now.Conditions = merge(now.Conditions, wanted.Conditions)
			now.SupportedFeatures = wanted.SupportedFeatures
		}})
	}
	return ours
}

// supported tells whether the definitions in the cluster are those that truth
// was built with.
func (w *world) supported() verdict {
	for i := range w.Definitions.Items {
		d := &w.Definitions.Items[i]
		if d.Name != classDefinition {
			continue
		}
		if version := d.Annotations[consts.BundleVersionAnnotation]; version != consts.BundleVersion {
			return no(gatewayv1.GatewayClassReasonUnsupportedVersion,
				fmt.Sprintf("the Gateway API's definitions are of version %q, not %s", version, consts.BundleVersion))
		}
		return yes(string(gatewayv1.GatewayClassReasonSupportedVersion))
	}
	return no(gatewayv1.GatewayClassReasonUnsupportedVersion, "the Gateway API's definitions are not there")
}

// conclude says what the statuses of Gateways and ListenerSets should be, now
// that their data planes are placed.
func (w *world) conclude() []status {
	all := w.statuses
	for _, g := range w.gateways {
		programmed := g.programmed()
		attached := int32(0)
		for _, s := range g.sets {
			accepted, one := s.status(programmed)
			if accepted {
				attached++
			}
			all = append(all, one)
		}
		all = append(all, g.status(programmed, attached))
	}
	return all
}

func (g *gateway) programmed() verdict {
	switch {
	case !g.accepted.ok:
		return no(gatewayv1.GatewayReasonInvalid, g.accepted.message)
	case len(g.placed.Addresses) == 0:
		return no(gatewayv1.GatewayReasonAddressNotAssigned, "the Service has no address yet")
	case !g.placed.Ready:
		return no(gatewayv1.GatewayReasonPending, "no replica serves yet")
	}
	return yes(string(gatewayv1.GatewayReasonProgrammed))
}

func (g *gateway) status(programmed verdict, sets int32) status {
	generation := g.object.Generation
	wanted := gatewayv1.GatewayStatus{
		Conditions: []metav1.Condition{
			g.accepted.condition(string(gatewayv1.GatewayConditionAccepted), generation),
			programmed.condition(string(gatewayv1.GatewayConditionProgrammed), generation),
		},
		AttachedListenerSets: &sets,
	}
	for _, address := range g.placed.Addresses {
		kind := gatewayv1.HostnameAddressType
		if _, err := netip.ParseAddr(address); err == nil {
			kind = gatewayv1.IPAddressType
		}
		wanted.Addresses = append(wanted.Addresses, gatewayv1.GatewayStatusAddress{Type: &kind, Value: address})
	}
	for _, l := range g.listeners[:len(g.object.Spec.Listeners)] {
		wanted.Listeners = append(wanted.Listeners, gatewayv1.ListenerStatus{
			Name: l.spec.Name, SupportedKinds: l.kinds, AttachedRoutes: l.attached, Conditions: l.conditions(programmed, generation),
		})
	}
	return status{g.object, wanted, func(o client.Object) {
		now := &o.(*gatewayv1.Gateway).Status
		had := map[gatewayv1.SectionName][]metav1.Condition{}
		for _, l := range now.Listeners {
			had[l.Name] = l.Conditions
		}
		now.Conditions = merge(now.Conditions, wanted.Conditions)
		now.Addresses, now.AttachedListenerSets = wanted.Addresses, wanted.AttachedListenerSets
		now.Listeners = slices.Clone(wanted.Listeners)
		for i := range now.Listeners {
			l := &now.Listeners[i]
			l.Conditions = merge(had[l.Name], l.Conditions, overlapping)
		}
	}}
}

const overlapping = string(gatewayv1.ListenerConditionOverlappingTLSConfig)

// conditions are a listener's; those of a ListenerSet's have the same names.
func (l *listener) conditions(gateway verdict, generation int64) []metav1.Condition {
	accepted, programmed := l.accepted, gateway
	conflicted := no(gatewayv1.ListenerReasonNoConflicts, "")
	if l.conflict != nil {
		conflicted = verdict{ok: true, reason: l.conflict.reason, message: l.conflict.message}
		accepted = *l.conflict
	}
	switch {
	case !accepted.ok:
		programmed = no(gatewayv1.ListenerReasonInvalid, accepted.message)
		if l.conflict != nil {
			programmed.reason = accepted.reason
		}
	case !l.served():
		programmed = no(gatewayv1.ListenerReasonInvalid, l.resolved.message)
	case gateway.ok:
		programmed.reason = string(gatewayv1.ListenerReasonProgrammed)
	default:
		programmed.reason = string(gatewayv1.ListenerReasonPending)
	}
	conditions := []metav1.Condition{
		accepted.condition(string(gatewayv1.ListenerConditionAccepted), generation),
		programmed.condition(string(gatewayv1.ListenerConditionProgrammed), generation),
		l.resolved.condition(string(gatewayv1.ListenerConditionResolvedRefs), generation),
		conflicted.condition(string(gatewayv1.ListenerConditionConflicted), generation),
	}
	if l.overlaps {
		overlap := verdict{ok: true, reason: string(gatewayv1.ListenerReasonOverlappingHostnames), message: "other listeners on the port have hosts of this one"}
		conditions = append(conditions, overlap.condition(overlapping, generation))
	}
	return conditions
}

// status also tells whether the set is accepted.
func (s *listenerSet) status(gateway verdict) (bool, status) {
	accepted, programmed := s.judge(gateway)
	generation := s.object.Generation
	wanted := gatewayv1.ListenerSetStatus{Conditions: []metav1.Condition{
		accepted.condition(string(gatewayv1.ListenerSetConditionAccepted), generation),
		programmed.condition(string(gatewayv1.ListenerSetConditionProgrammed), generation),
	}}
	for _, l := range s.listeners {
		wanted.Listeners = append(wanted.Listeners, gatewayv1.ListenerEntryStatus{
			Name: l.spec.Name, SupportedKinds: l.kinds, AttachedRoutes: l.attached, Conditions: l.conditions(gateway, generation),
		})
	}
	return accepted.ok, status{s.object, wanted, func(o client.Object) {
		now := &o.(*gatewayv1.ListenerSet).Status
		had := map[gatewayv1.SectionName][]metav1.Condition{}
		for _, l := range now.Listeners {
			had[l.Name] = l.Conditions
		}
		now.Conditions = merge(now.Conditions, wanted.Conditions)
		now.Listeners = slices.Clone(wanted.Listeners)
		for i := range now.Listeners {
			l := &now.Listeners[i]
			l.Conditions = merge(had[l.Name], l.Conditions, overlapping)
		}
	}}
}

func (s *listenerSet) judge(gateway verdict) (accepted, programmed verdict) {
	served := 0
	for _, l := range s.listeners {
		if l.served() {
			served++
		}
	}
	const notValid = gatewayv1.ListenerSetReasonListenersNotValid
	switch {
	case !s.allowed:
		v := no(gatewayv1.ListenerSetReasonNotAllowed, "the Gateway does not allow the set")
		return v, v
	case !s.gateway.accepted.ok:
		v := no(gatewayv1.ListenerSetReasonParentNotAccepted, "the Gateway is not accepted")
		return v, v
	case served == 0:
		v := no(notValid, "no listener can be served")
		return v, v
	}
	accepted, programmed = yes(string(gatewayv1.ListenerSetReasonAccepted)), gateway
	if gateway.ok {
		programmed = yes(string(gatewayv1.ListenerSetReasonProgrammed))
	}
	if served < len(s.listeners) {
		accepted.reason, accepted.message = string(notValid), "some listeners are not valid"
	}
	return accepted, programmed
}

// routeStatus replaces the entries that are ours and leaves others, which are
// of other controllers, where they are.
func routeStatus(object client.Object, wanted []gatewayv1.RouteParentStatus) status {
	return status{object, wanted, func(o client.Object) {
		now := declare(o).status
		left := slices.Clone(wanted)
		parents := []gatewayv1.RouteParentStatus{} // nil would not be valid
		for _, had := range now.Parents {
			if had.ControllerName != Name {
				parents = append(parents, had)
				continue
			}
			at := slices.IndexFunc(left, func(p gatewayv1.RouteParentStatus) bool { return reflect.DeepEqual(p.ParentRef, had.ParentRef) })
			if at < 0 {
				continue
			}
			p := left[at]
			p.Conditions = merge(had.Conditions, p.Conditions, string(gatewayv1.RouteConditionPartiallyInvalid))
			parents = append(parents, p)
			left = slices.Delete(left, at, at+1)
		}
		for _, p := range left {
			p.Conditions = merge(nil, p.Conditions)
			parents = append(parents, p)
		}
		now.Parents = parents
	}}
}
