package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Objects are all that the control plane looks at. They are shared with the
// cache, and must not be changed.
type Objects struct {
	Definitions apiextensionsv1.CustomResourceDefinitionList
	Classes     gatewayv1.GatewayClassList
	Gateways    gatewayv1.GatewayList
	Sets        gatewayv1.ListenerSetList
	HTTPRoutes  gatewayv1.HTTPRouteList
	GRPCRoutes  gatewayv1.GRPCRouteList
	TLSRoutes   gatewayv1.TLSRouteList
	Grants      gatewayv1.ReferenceGrantList
	Services    corev1.ServiceList
	Slices      discoveryv1.EndpointSliceList
	Secrets     corev1.SecretList
	Namespaces  corev1.NamespaceList
}

// classDefinition is the definition whose annotation tells the version of all.
const classDefinition = "gatewayclasses.gateway.networking.k8s.io"

// watched lists one object of each kind.
func watched() []client.Object {
	return []client.Object{
		&apiextensionsv1.CustomResourceDefinition{}, &gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.ListenerSet{},
		&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}, &gatewayv1.TLSRoute{}, &gatewayv1.ReferenceGrant{}, &corev1.Service{},
		&discoveryv1.EndpointSlice{}, &corev1.Secret{}, &corev1.Namespace{},
	}
}

// read lists everything from the cache.
func read(ctx context.Context, c client.Reader) (*Objects, error) {
	o := new(Objects)
	for _, list := range []client.ObjectList{
		&o.Definitions, &o.Classes, &o.Gateways, &o.Sets, &o.HTTPRoutes, &o.GRPCRoutes, &o.TLSRoutes, &o.Grants, &o.Services,
		&o.Slices, &o.Secrets, &o.Namespaces,
	} {
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("read %T: %w", list, err)
		}
	}
	return o, nil
}
