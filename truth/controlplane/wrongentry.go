package controlplane

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

// entries changes what the statuses of routes say.
func (x *wrong) entries(w *world, f fault.Faults) {
	for i, s := range w.statuses {
		object := declare(s.object)
		if object == nil {
			continue
		}
		all := s.wanted.([]gatewayv1.RouteParentStatus)
		if f.StaleGeneration > 0 && f.Stale(x.said.of(fmt.Sprintf("%s/%d", object.GetUID(), object.GetGeneration()))) {
			outdate(all)
		}
		if len(all) > 0 {
			own := all[0]
			all = append(all, w.foreign(object, f.ForeignEntries)...)
			all = append(all, slices.Repeat([]gatewayv1.RouteParentStatus{own}, f.DuplicateEntries)...)
		}
		w.statuses[i] = routeStatus(s.object, all)
		if f.RemovesOthers {
			w.statuses[i].into = alone(w.statuses[i].into)
		}
	}
}

// refuse says of routes that their Gateway's replicas are not told of that they
// are not accepted, and does not count them.
func (w *world) refuse(ceiling int) {
	told := map[*gateway]map[string]int64{}
	for _, g := range w.gateways {
		told[g] = g.told.Routes()
		for _, l := range g.listeners {
			beyond := map[string]bool{}
			for _, rule := range l.rules {
				if told[g][rule.Route] == 0 {
					beyond[rule.Route] = true
				}
			}
			l.attached -= int32(len(beyond))
		}
	}
	for _, s := range w.statuses {
		object := declare(s.object)
		if object == nil {
			continue
		}
		for _, e := range s.wanted.([]gatewayv1.RouteParentStatus) {
			c := meta.FindStatusCondition(e.Conditions, string(gatewayv1.RouteConditionAccepted))
			g := w.parent(object.GetNamespace(), e.ParentRef).gateway
			if c.Status == metav1.ConditionTrue && told[g][object.name()] == 0 {
				c.Status, c.Reason, c.Message = metav1.ConditionFalse, "TooManyRoutes", fmt.Sprintf("no more than %d routes are served", ceiling-1)
			}
		}
	}
}

// outdate says that entries are about the generation before.
func outdate(entries []gatewayv1.RouteParentStatus) {
	for _, e := range entries {
		for i := range e.Conditions {
			e.Conditions[i].ObservedGeneration--
		}
	}
}

// foreign are n entries for parents that are not ours: first those that the
// route has, then some that it does not.
func (w *world) foreign(object *declared, n int) []gatewayv1.RouteParentStatus {
	var refs []gatewayv1.ParentReference
	for _, ref := range object.spec.ParentRefs {
		if w.parent(object.GetNamespace(), ref) == nil {
			refs = append(refs, ref)
		}
	}
	for i := range n {
		refs = append(refs, gatewayv1.ParentReference{
			Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)), Kind: ptr.To(gatewayv1.Kind("Gateway")),
			Name: gatewayv1.ObjectName(fmt.Sprintf("no-such-gateway-%d", i+1)),
		})
	}
	var all []gatewayv1.RouteParentStatus
	for _, ref := range refs[:n] {
		v := no(gatewayv1.RouteReasonNoMatchingParent, "the parent is not ours")
		all = append(all, gatewayv1.RouteParentStatus{ParentRef: ref, ControllerName: Name, Conditions: []metav1.Condition{
			v.condition(string(gatewayv1.RouteConditionAccepted), object.GetGeneration()),
		}})
	}
	return all
}

// alone also removes what other controllers said.
func alone(into func(client.Object)) func(client.Object) {
	return func(o client.Object) {
		into(o)
		now := declare(o).status
		now.Parents = slices.DeleteFunc(now.Parents, func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName != Name })
	}
}
