package controlplane

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/config"
)

// Protocols of a Service's port that are more than plain HTTP/1.1.
const (
	appH2C       = "kubernetes.io/h2c"
	appWebSocket = "kubernetes.io/ws"
	appHTTP      = "http"
)

// backend resolves a reference of a route.
func (w *world) backend(from reference, ref gatewayv1.BackendObjectReference) (string, config.Backend, verdict) {
	fail := func(reason gatewayv1.RouteConditionReason, format string, args ...any) (string, config.Backend, verdict) {
		return "", config.Backend{}, no(reason, fmt.Sprintf(format, args...))
	}
	if group(ref.Group, "") != "" || group(ref.Kind, "Service") != "Service" {
		return fail(gatewayv1.RouteReasonInvalidKind, "backends of kind %s are not supported", group(ref.Kind, "Service"))
	}
	key := client.ObjectKey{Namespace: group(ref.Namespace, from.namespace), Name: string(ref.Name)}
	if !w.granted(from, "Service", key) {
		return fail(gatewayv1.RouteReasonRefNotPermitted, "service %s: no ReferenceGrant permits it", key)
	}
	service := w.services[key]
	if service == nil {
		return fail(gatewayv1.RouteReasonBackendNotFound, "service %s: not found", key)
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(ptr.Deref(ref.Port, 0)) })
	if at < 0 {
		return fail(gatewayv1.RouteReasonBackendNotFound, "service %s has no port %d", key, ptr.Deref(ref.Port, 0))
	}
	port := &service.Spec.Ports[at]
	protocol := ptr.Deref(port.AppProtocol, appHTTP)
	h2c, ok := speaks(from.kind, protocol)
	if !ok {
		return fail(gatewayv1.RouteReasonUnsupportedProtocol, "service %s: protocol %s of port %d is not supported", key, protocol, port.Port)
	}
	name := fmt.Sprintf("%s:%d", key, port.Port)
	if from.kind == kindGRPC {
		name += "/grpc" // an HTTPRoute may send HTTP/1.1 there
	}
	return name, config.Backend{H2C: h2c, Endpoints: w.endpoints(key, port.Name)}, verdict{ok: true}
}

// speaks tells whether routes of a kind can be served by such a port, and
// whether with HTTP/2.
func speaks(kind, protocol string) (h2c, ok bool) {
	switch kind {
	case kindTLS:
		return false, true // its connections are passed through as they are
	case kindGRPC:
		return true, protocol == appH2C || protocol == appHTTP
	}
	return protocol == appH2C, protocol == appH2C || protocol == appWebSocket || protocol == appHTTP
}

// endpoints are those of a Service's port that are ready, sorted. An address
// of an endpoint is one whatever its slice's type says.
func (w *world) endpoints(service client.ObjectKey, portName string) []netip.AddrPort {
	var all []netip.AddrPort
	for _, slice := range w.slices[service] {
		at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
			return ptr.Deref(p.Name, "") == portName && p.Port != nil
		})
		if at < 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			if !ptr.Deref(e.Conditions.Ready, true) {
				continue
			}
			for _, text := range e.Addresses {
				if ip, err := netip.ParseAddr(text); err == nil {
					all = append(all, netip.AddrPortFrom(ip, uint16(*slice.Ports[at].Port)))
				}
			}
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}
