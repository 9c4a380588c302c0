package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A balancer is the address of a Service of type LoadBalancer: each connection
// goes to one of its endpoints, and stays there.
type balancer struct {
	address   netip.Addr
	reserved  net.Listener
	listeners map[int32]net.Listener

	mu        sync.Mutex
	endpoints map[int32][]string // by the Service's port
}

// balance keeps the address of a Service, and says in its status what it is.
func (n *node) balance(ctx context.Context, s *corev1.Service, ports []discoveryv1.EndpointPort, selected []*pod) error {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	b := n.balancers[s.UID]
	if b == nil {
		a, reserved, err := address()
		if err != nil {
			return err
		}
		b = &balancer{address: a, reserved: reserved, listeners: map[int32]net.Listener{}}
		n.balancers[s.UID] = b
	}
	endpoints := map[int32][]string{}
	for i, port := range s.Spec.Ports {
		if err := b.listen(port.Port); err != nil {
			return fmt.Errorf("address of service %s: %w", client.ObjectKeyFromObject(s), err)
		}
		for _, p := range selected {
			if i < len(ports) {
				endpoints[port.Port] = append(endpoints[port.Port], netip.AddrPortFrom(p.address, uint16(*ports[i].Port)).String())
			}
		}
	}
	b.mu.Lock()
	b.endpoints = endpoints
	b.mu.Unlock()
	if len(s.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	told := s.DeepCopy()
	told.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: b.address.String()}}
	if err := n.kube.Status().Patch(ctx, told, client.MergeFrom(s)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("say the address of service %s: %w", client.ObjectKeyFromObject(s), err)
	}
	return nil
}

// keepBalancers closes those of Services that are gone.
func (n *node) keepBalancers(services []corev1.Service) {
	there := map[types.UID]bool{}
	for i := range services {
		there[services[i].UID] = true
	}
	for uid, b := range n.balancers {
		if !there[uid] {
			b.close()
			delete(n.balancers, uid)
		}
	}
}

func (n *node) closeBalancers() { n.keepBalancers(nil) }

func (b *balancer) close() {
	b.reserved.Close()
	for _, l := range b.listeners {
		l.Close()
	}
}

func (b *balancer) listen(port int32) error {
	if b.listeners[port] != nil {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(b.address.String(), strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	b.listeners[port] = l
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go b.carry(c.(*net.TCPConn), port)
			}
		}
	}()
	return nil
}

// carry is a connection's life. One that nobody takes is reset.
func (b *balancer) carry(from *net.TCPConn, port int32) {
	b.mu.Lock()
	all := b.endpoints[port]
	b.mu.Unlock()
	if len(all) == 0 {
		abort(from)
		return
	}
	to, err := net.DialTimeout("tcp", all[rand.IntN(len(all))], time.Second)
	if err != nil {
		abort(from)
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		pass(from, to.(*net.TCPConn))
	}()
	pass(to.(*net.TCPConn), from)
	<-back
	from.Close()
	to.Close()
}

// pass hands on what comes, and how it ends.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		abort(to)
		abort(from)
		return
	}
	_ = to.CloseWrite() // who has gone needs no end
}

// abort resets a connection.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // it is closed either way
	c.Close()
}
