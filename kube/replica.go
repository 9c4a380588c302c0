package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Replica is one data-plane pod behind a Gateway's Service, as the Service's
// EndpointSlices show it.
type Replica struct {
	// Pod is namespace/name; empty where the endpoint is not a pod.
	Pod  string
	Node string
	IP   netip.Addr
	// Port is where the pod listens for the Service port asked for.
	Port uint16
	// Ready, Serving and Terminating are the endpoint's own conditions.
	Ready, Serving, Terminating bool
	// Service is the namespace/name of the Service that it was found by.
	Service string
}

// Address is where the replica answers.
func (r Replica) Address() netip.AddrPort { return netip.AddrPortFrom(r.IP, r.Port) }

// Replicas finds the data-plane replicas that serve a listener port: the
// endpoints of every Service in the namespace that Selects by the selector and
// has this port. A selector that matches no such Service is an error,
// which names what was found instead; a Service without endpoints is not.
func Replicas(ctx context.Context, c *Client, namespace, selector string, port int32) ([]Replica, error) {
	matching, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("find replicas in %s: selector %q: %w", namespace, selector, err)
	}
	var services corev1.ServiceList
	if err := c.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("find replicas in %s: %w", namespace, err)
	}
	var endpoints discoveryv1.EndpointSliceList
	if err := c.List(ctx, &endpoints, client.InNamespace(namespace), client.HasLabels{discoveryv1.LabelServiceName}); err != nil {
		return nil, fmt.Errorf("find replicas in %s: %w", namespace, err)
	}
	selecting := slices.DeleteFunc(services.Items, func(s corev1.Service) bool { return !Selects(&s, matching) })
	replicas, err := ReplicasOf(selecting, endpoints.Items, port)
	if err != nil {
		return nil, fmt.Errorf("find replicas in %s by %q: %w", namespace, selector, err)
	}
	return replicas, nil
}

// Selects reports whether a Service belongs to pods that a selector is for: it
// has their labels itself, or it asks for them. Not everybody labels Services
// as pods.
func Selects(service *corev1.Service, pods labels.Selector) bool {
	return pods.Matches(labels.Set(service.Labels)) || len(service.Spec.Selector) > 0 && pods.Matches(labels.Set(service.Spec.Selector))
}

// ReplicasOf is Replicas on objects at hand. Replicas are sorted by pod and
// address; one that several Services lead to is listed once.
func ReplicasOf(services []corev1.Service, endpoints []discoveryv1.EndpointSlice, port int32) ([]Replica, error) {
	var replicas []Replica
	var others []string
	found := false
	for i := range services {
		service := &services[i]
		portName, ok := portNamed(service, port)
		if !ok {
			others = append(others, fmt.Sprintf("%s has %v", name(service), ports(service)))
			continue
		}
		found = true
		for j := range endpoints {
			slice := &endpoints[j]
			if slice.Namespace == service.Namespace && slice.Labels[discoveryv1.LabelServiceName] == service.Name {
				replicas = append(replicas, endpointsOf(slice, portName, name(service))...)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("no service with port %d among %d: %s", port, len(services), strings.Join(others, ", "))
	}
	slices.SortFunc(replicas, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), a.Address().Compare(b.Address()))
	})
	return slices.CompactFunc(replicas, func(a, b Replica) bool { return a.Pod == b.Pod && a.Address() == b.Address() }), nil
}

func portNamed(service *corev1.Service, port int32) (string, bool) {
	for _, p := range service.Spec.Ports {
		if p.Port == port && p.Protocol != corev1.ProtocolUDP {
			return p.Name, true
		}
	}
	return "", false
}

func ports(service *corev1.Service) []int32 {
	var all []int32
	for _, p := range service.Spec.Ports {
		all = append(all, p.Port)
	}
	return all
}

func endpointsOf(slice *discoveryv1.EndpointSlice, portName, service string) []Replica {
	at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return ptr.Deref(p.Name, "") == portName && p.Port != nil
	})
	if at < 0 { // no endpoint of this slice serves the port
		return nil
	}
	var replicas []Replica
	for _, e := range slice.Endpoints {
		for _, address := range e.Addresses {
			ip, err := netip.ParseAddr(address)
			if err != nil { // an FQDN slice: not a replica that can be told apart
				continue
			}
			r := Replica{
				Node: ptr.Deref(e.NodeName, ""), IP: ip, Port: uint16(*slice.Ports[at].Port), Service: service,
				// nil means ready, and serving means what ready does unless terminating.
				Ready:       ptr.Deref(e.Conditions.Ready, true),
				Serving:     ptr.Deref(e.Conditions.Serving, ptr.Deref(e.Conditions.Ready, true)),
				Terminating: ptr.Deref(e.Conditions.Terminating, false),
			}
			if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
				r.Pod = e.TargetRef.Namespace + "/" + e.TargetRef.Name
			}
			replicas = append(replicas, r)
		}
	}
	return replicas
}
