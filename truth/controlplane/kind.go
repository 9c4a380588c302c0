package controlplane

import (
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// The kinds of route.
const (
	kindHTTP = "HTTPRoute"
	kindGRPC = "GRPCRoute"
	kindTLS  = "TLSRoute"
)

// A declared route is an object of one of the kinds, as far as all are alike.
type declared struct {
	client.Object
	kind      string
	spec      *gatewayv1.CommonRouteSpec
	hostnames []gatewayv1.Hostname
	status    *gatewayv1.RouteStatus
}

// declare returns nil for what is no route.
func declare(object client.Object) *declared {
	switch o := object.(type) {
	case *gatewayv1.HTTPRoute:
		return &declared{o, kindHTTP, &o.Spec.CommonRouteSpec, o.Spec.Hostnames, &o.Status.RouteStatus}
	case *gatewayv1.GRPCRoute:
		return &declared{o, kindGRPC, &o.Spec.CommonRouteSpec, o.Spec.Hostnames, &o.Status.RouteStatus}
	case *gatewayv1.TLSRoute:
		return &declared{o, kindTLS, &o.Spec.CommonRouteSpec, o.Spec.Hostnames, &o.Status.RouteStatus}
	}
	return nil
}

// declaredRoutes are those of all kinds that are not being deleted.
func (o *Objects) declaredRoutes() []*declared {
	var all []*declared
	add := func(object client.Object) {
		if object.GetDeletionTimestamp() == nil {
			all = append(all, declare(object))
		}
	}
	for i := range o.HTTPRoutes.Items {
		add(&o.HTTPRoutes.Items[i])
	}
	for i := range o.GRPCRoutes.Items {
		add(&o.GRPCRoutes.Items[i])
	}
	for i := range o.TLSRoutes.Items {
		add(&o.TLSRoutes.Items[i])
	}
	return all
}

// name is the route's in snapshots: namespace/name, behind the kind of what is
// no HTTPRoute.
func (d *declared) name() string {
	name := client.ObjectKeyFromObject(d).String()
	if d.kind != kindHTTP {
		name = d.kind + "/" + name
	}
	return name
}

// rules are the route's as an HTTPRoute has them: a gRPC call is a request
// whose path names its method, and a connection that is passed through is
// matched by its host alone.
func (d *declared) rules() []gatewayv1.HTTPRouteRule {
	switch o := d.Object.(type) {
	case *gatewayv1.GRPCRoute:
		return grpcRules(o)
	case *gatewayv1.TLSRoute:
		var all []gatewayv1.HTTPRouteRule
		for i := range o.Spec.Rules {
			var rule gatewayv1.HTTPRouteRule
			for _, ref := range o.Spec.Rules[i].BackendRefs {
				rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref})
			}
			all = append(all, rule)
		}
		return all
	}
	return d.Object.(*gatewayv1.HTTPRoute).Spec.Rules
}

func grpcRules(route *gatewayv1.GRPCRoute) []gatewayv1.HTTPRouteRule {
	var all []gatewayv1.HTTPRouteRule
	for i := range route.Spec.Rules {
		from := &route.Spec.Rules[i]
		rule := gatewayv1.HTTPRouteRule{Name: from.Name, Filters: grpcFilters(from.Filters), SessionPersistence: from.SessionPersistence}
		for j := range from.Matches {
			m := &from.Matches[j]
			match := gatewayv1.HTTPRouteMatch{Path: grpcPath(m.Method)}
			for _, h := range m.Headers {
				match.Headers = append(match.Headers, gatewayv1.HTTPHeaderMatch{
					Type: (*gatewayv1.HeaderMatchType)(h.Type), Name: gatewayv1.HTTPHeaderName(h.Name), Value: h.Value,
				})
			}
			rule.Matches = append(rule.Matches, match)
		}
		for _, ref := range from.BackendRefs {
			rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: ref.BackendRef, Filters: grpcFilters(ref.Filters)})
		}
		all = append(all, rule)
	}
	return all
}

// grpcPath is the path of the calls that a method stands for.
func grpcPath(m *gatewayv1.GRPCMethodMatch) *gatewayv1.HTTPPathMatch {
	if m == nil {
		return nil
	}
	path := func(kind gatewayv1.PathMatchType, text string) *gatewayv1.HTTPPathMatch {
		return &gatewayv1.HTTPPathMatch{Type: &kind, Value: &text}
	}
	service, method := ptr.Deref(m.Service, ""), ptr.Deref(m.Method, "")
	expression := ptr.Deref(m.Type, gatewayv1.GRPCMethodMatchExact) == gatewayv1.GRPCMethodMatchRegularExpression
	const any = "[^/]+"
	switch {
	case expression:
		for _, part := range []*string{&service, &method} {
			if *part == "" {
				*part = any
			}
		}
		return path(gatewayv1.PathMatchRegularExpression, "/(?:"+service+")/(?:"+method+")")
	case service == "":
		return path(config.PathMatchSuffix, "/"+method)
	case method == "":
		return path(gatewayv1.PathMatchPathPrefix, "/"+service)
	}
	return path(gatewayv1.PathMatchExact, "/"+service+"/"+method)
}

// grpcFilters are those of HTTPRoutes with the same names; what is not
// supported of one is not of the other either.
func grpcFilters(from []gatewayv1.GRPCRouteFilter) []gatewayv1.HTTPRouteFilter {
	var all []gatewayv1.HTTPRouteFilter
	for _, f := range from {
		all = append(all, gatewayv1.HTTPRouteFilter{
			Type:                  gatewayv1.HTTPRouteFilterType(f.Type),
			RequestHeaderModifier: f.RequestHeaderModifier, ResponseHeaderModifier: f.ResponseHeaderModifier,
		})
	}
	return all
}
