package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const checkName = "gatemark-check"

// checkLoadBalancer serves something on the node behind a Service of type
// LoadBalancer, and asks for it at the address that the Service gets.
func (c *cluster) checkLoadBalancer(ctx context.Context) (err error) {
	listener, err := net.Listen("tcp", nodeIP+":0")
	if err != nil {
		return fmt.Errorf("listening on the node: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logf("serving the LoadBalancer check: %v", err)
		}
	}()
	defer server.Close()
	port := int32(listener.Addr().(*net.TCPAddr).Port)
	if err := c.createCheck(ctx, port); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.deleteCheck(ctx))
	}()
	var address string
	err = waitFor(ctx, "a LoadBalancer address", func(ctx context.Context) error {
		service, err := c.client.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, checkName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("its status has none")
		}
		address = service.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	if err != nil {
		return err
	}
	return about(c.programs.proxy(), waitFor(ctx, "an answer from LoadBalancer address "+address, c.get("http://"+address)))
}

func (c *cluster) createCheck(ctx context.Context, port int32) error {
	meta := metav1.ObjectMeta{Name: checkName, Namespace: metav1.NamespaceSystem}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type:  corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	if _, err := c.client.CoreV1().Services(meta.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Service to check with: %w", err)
	}
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: checkName, discoveryv1.LabelManagedBy: "gatemark"}
	name, protocol, ready := "http", corev1.ProtocolTCP, true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{nodeIP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}},
	}
	if _, err := c.client.DiscoveryV1().EndpointSlices(meta.Namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the EndpointSlice to check with: %w", err)
	}
	return nil
}

func (c *cluster) deleteCheck(ctx context.Context) error {
	slices := c.client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem)
	if err := slices.Delete(ctx, checkName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing the EndpointSlice that was checked with: %w", err)
	}
	services := c.client.CoreV1().Services(metav1.NamespaceSystem)
	if err := services.Delete(ctx, checkName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing the Service that was checked with: %w", err)
	}
	return nil
}
