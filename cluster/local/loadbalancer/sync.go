package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// sync brings one Service's status in line with its spec.
func (c *controller) sync(ctx context.Context, k string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(k)
	if err != nil {
		return fmt.Errorf("syncing Service %s: %w", k, err)
	}
	service, err := c.services.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		c.release(k)
		return nil
	}
	if err != nil {
		return fmt.Errorf("syncing Service %s: %w", k, err)
	}
	if !ours(service) {
		return c.retract(ctx, service)
	}
	ip, err := c.assign(service)
	if err != nil {
		c.events.Event(service, corev1.EventTypeWarning, "AllocationFailed", err.Error())
		c.pool.release(k)
		c.starved[k] = true
		return errors.Join(err, c.write(ctx, service, nil))
	}
	delete(c.starved, k)
	mode := corev1.LoadBalancerIPModeVIP
	return c.write(ctx, service, []corev1.LoadBalancerIngress{{IP: ip.String(), IPMode: &mode}})
}

// assign returns the Service's address: the one it asks for, the one it has,
// or a free one.
func (c *controller) assign(service *corev1.Service) (netip.Addr, error) {
	k := key(service)
	if wanted := service.Spec.LoadBalancerIP; wanted != "" {
		ip, err := netip.ParseAddr(wanted)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("spec.loadBalancerIP %q is not an address", wanted)
		}
		return ip, c.pool.take(k, ip)
	}
	if ip := c.pool.of(k); ip.IsValid() {
		return ip, nil
	}
	return c.pool.any(k)
}

// retract takes back the address of a Service that is no longer ours.
func (c *controller) retract(ctx context.Context, service *corev1.Service) error {
	k := key(service)
	had := c.pool.of(k)
	if !had.IsValid() {
		return nil
	}
	if currentIP(service) == had {
		if err := c.write(ctx, service, nil); err != nil {
			return err
		}
	}
	c.release(k)
	return nil
}

// release gives an address back, and gives those a try that went without:
// their own next try may be minutes away.
func (c *controller) release(k string) {
	c.pool.release(k)
	delete(c.starved, k)
	for other := range c.starved {
		c.queue.Add(other)
	}
}

func (c *controller) write(ctx context.Context, service *corev1.Service, ingress []corev1.LoadBalancerIngress) error {
	if sameIngress(service.Status.LoadBalancer.Ingress, ingress) {
		return nil
	}
	service = service.DeepCopy()
	service.Status.LoadBalancer.Ingress = ingress
	_, err := c.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status of Service %s: %w", key(service), err)
	}
	return nil
}

// sameIngress compares what this controller writes. The API server fills in
// no other field of it.
func sameIngress(a, b []corev1.LoadBalancerIngress) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].IP != b[i].IP || a[i].Hostname != b[i].Hostname {
			return false
		}
	}
	return true
}

func ours(s *corev1.Service) bool {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return false
	}
	return s.Spec.LoadBalancerClass == nil || *s.Spec.LoadBalancerClass == Class
}

// currentIP returns the address in the Service's status, or the zero Addr.
func currentIP(s *corev1.Service) netip.Addr {
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(ingress.IP); err == nil {
			return ip
		}
	}
	return netip.Addr{}
}

func key(s *corev1.Service) string { return s.Namespace + "/" + s.Name }
