package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/load"
)

// A Route is a kind of route: all in which measuring one differs from measuring
// another.
type Route struct {
	Kind string
	// Feature is what the GatewayClass of an implementation lists that has it;
	// empty for what every implementation has.
	Feature string
	// Listener is one of the trial's Gateway for such routes, BackendPort the
	// port of the backends' Services.
	Listener    Listener
	BackendPort int
	// Protocol is what is asked by, and TLS whether it is spoken to the backend
	// itself. Then the route leaves no mark on what it passes: only the backend
	// that answers can be told, and connections stay with theirs.
	Protocol load.Protocol
	TLS      bool
	// Unserved is what is right where no route serves, in words.
	Unserved string
}

// The kinds of route, as a parameter names them.
const (
	HTTPRoute = "HTTPRoute"
	GRPCRoute = "GRPCRoute"
	TLSRoute  = "TLSRoute"
)

var routes = []*Route{
	{Kind: HTTPRoute, Listener: Listener{Name: "http"}, BackendPort: 80, Protocol: load.HTTP1, Unserved: "404"},
	{Kind: GRPCRoute, Feature: string(features.SupportGRPCRoute), Listener: Listener{Name: "http"}, BackendPort: 81, Protocol: load.GRPC,
		Unserved: "UNIMPLEMENTED (404)"},
	{Kind: TLSRoute, Feature: string(features.SupportTLSRoute), Listener: Listener{Name: "tls", Passthrough: true}, BackendPort: 443, Protocol: load.HTTP1, TLS: true,
		Unserved: "a closed connection"},
}

// RouteParameter is the parameter by which scenarios measure another kind.
var RouteParameter = Parameter{Name: "route", Default: HTTPRoute, OneOf: []string{HTTPRoute, GRPCRoute, TLSRoute}, Help: "kind of route"}

// RouteOf is the kind that a trial's parameters name.
func RouteOf(v map[string]any) *Route {
	kind, _ := v[RouteParameter.Name].(string)
	if at := slices.IndexFunc(routes, func(r *Route) bool { return r.Kind == kind }); at >= 0 {
		return routes[at]
	}
	return routes[0]
}

// Service is the gRPC service that stands for a path in a GRPCRoute's match, or
// "" for the path /.
func (r *Route) Service(path string) string {
	return strings.ReplaceAll(strings.Trim(path, "/"), "-", "_")
}

// Method is the method that a GRPCRoute's match names beside its service: to match
// by both is what every implementation has to know.
func (r *Route) Method() string { return "Call" }

// Path is what is asked for where a route matches a path: of gRPC, the method of
// the service that stands for it.
func (r *Route) Path(path string) string {
	if r.Protocol != load.GRPC {
		return path
	}
	service := r.Service(path)
	if service == "" {
		service = "gatemark.Any"
	}
	return "/" + service + "/" + r.Method()
}

// FindRoute tells whether the cluster and the implementation have a kind of
// route. The trial's routes are of the version that the cluster prefers:
// TLSRoutes came to v1 late.
func (t *Trial) FindRoute(ctx context.Context, r *Route) (err error) {
	t.routeVersion, err = t.SupportedVersion(ctx, r.Kind, r.Feature)
	return err
}

// SupportedVersion is the version that the cluster prefers of a kind of the
// Gateway API, if it has one and the implementation has the feature that stands
// for the kind.
func (t *Trial) SupportedVersion(ctx context.Context, kind, feature string) (version string, err error) {
	found, err := t.Kube.RESTMapper().RESTMapping(gatewayv1.SchemeGroupVersion.WithKind(kind).GroupKind())
	if meta.IsNoMatchError(err) {
		return "", Unsupported{fmt.Errorf("the Gateway API of this cluster has no %s", kind)}
	}
	if err != nil {
		return "", Invalid{err}
	}
	return found.GroupVersionKind.Version, t.listsFeature(ctx, feature)
}

// RouteVersion is that of the trial's routes.
func (t *Trial) RouteVersion() string {
	return cmp.Or(t.routeVersion, gatewayv1.SchemeGroupVersion.Version)
}

// Supports tells whether the cluster has a kind of object in version v1, and the
// implementation the feature that stands for it.
func (t *Trial) Supports(ctx context.Context, kind, feature string) error {
	gvk := gatewayv1.SchemeGroupVersion.WithKind(kind)
	_, err := t.Kube.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return Unsupported{fmt.Errorf("the Gateway API of this cluster has no %s in version %s", kind, gvk.Version)}
	}
	if err != nil {
		return Invalid{err}
	}
	return t.listsFeature(ctx, feature)
}

// listsFeature asks the trial's GatewayClass. An implementation that lists no
// features is tried.
func (t *Trial) listsFeature(ctx context.Context, feature string) error {
	var class gatewayv1.GatewayClass
	if err := t.Kube.Get(ctx, client.ObjectKey{Name: t.Target.GatewayClass}, &class); err != nil {
		return Invalid{err}
	}
	return ListsFeature(&class, feature)
}

// ListsFeature holds a feature against those that a GatewayClass lists.
func ListsFeature(class *gatewayv1.GatewayClass, feature string) error {
	all := kube.Features(class)
	if feature == "" || len(all) == 0 || slices.Contains(all, feature) {
		return nil
	}
	return Unsupported{fmt.Errorf("%s is not among the %d features that GatewayClass %s says are supported", feature, len(all), class.Name)}
}
