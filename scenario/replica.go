package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
)

// FindReplicas finds the data plane's pods that serve a listener's port now. Of
// an implementation that is unknown, and whose pods cannot be told, the
// Gateway's address is the one replica.
func (t *Trial) FindReplicas(ctx context.Context, port int32) ([]kube.Replica, error) {
	return t.FindReplicasIn(ctx, t.Namespace, port)
}

// FindReplicasIn is FindReplicas for the Gateway of that name in another
// namespace of the trial.
func (t *Trial) FindReplicasIn(ctx context.Context, namespace string, port int32) ([]kube.Replica, error) {
	selector, err := t.Target.DataPlane.For(namespace, GatewayName)
	if err != nil {
		return nil, Invalid{err}
	}
	replicas, err := kube.Replicas(ctx, t.Kube, selector.Namespace, selector.Labels, port)
	if !t.Target.Unknown || err == nil && len(replicas) > 0 {
		return replicas, err
	}
	address, err := t.address(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return []kube.Replica{{IP: address, Port: uint16(port), Ready: true, Serving: true}}, nil
}

// address is where the Gateway in that namespace answers.
func (t *Trial) address(ctx context.Context, namespace string) (netip.Addr, error) {
	var gw gatewayv1.Gateway
	if err := t.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: GatewayName}, &gw); err != nil {
		return netip.Addr{}, fmt.Errorf("address of the Gateway: %w", err)
	}
	hosts, err := t.Addresses(&gw)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(hosts) == 0 {
		return netip.Addr{}, errors.New("the Gateway has no address")
	}
	if ip, err := netip.ParseAddr(hosts[0]); err == nil {
		return ip, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", hosts[0])
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address of the Gateway: %w", err)
	}
	return found[0].Unmap(), nil
}

// Addresses are where a Gateway answers: as its status says, or as the plan
// does.
func (t *Trial) Addresses(gw *gatewayv1.Gateway) ([]string, error) {
	if t.Target.Address == "" {
		return kube.Addresses(gw), nil
	}
	filled, err := Selector{Namespace: t.Target.Address}.For(gw.Namespace, gw.Name)
	if err != nil {
		return nil, Invalid{fmt.Errorf("address: %w", err)}
	}
	return []string{filled.Namespace}, nil
}

// WaitGateway waits until a Gateway of the trial serves: as kube.WaitGateway
// has it, but for the address where that is known otherwise. The error has the
// words of its pods.
func (t *Trial) WaitGateway(ctx context.Context, name string) (*gatewayv1.Gateway, error) {
	wait := kube.WaitGateway
	if t.Target.Address != "" {
		wait = kube.WaitGatewayWithoutAddress
	}
	stop := t.tellWords(name)
	gw, err := wait(ctx, t.Kube, client.ObjectKey{Namespace: t.Namespace, Name: name})
	stop()
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return gw, err
	}
	if words := t.podWords(context.Background(), name); words != "" {
		err = fmt.Errorf("%w; %s", err, words)
	}
	return gw, err
}

// GatewayAddress waits for the trial's Gateway, at most StageLimit, and returns
// its first address with a listener's port. Of an implementation without
// Gateways it is that of the data plane's Service.
func (t *Trial) GatewayAddress(ctx context.Context, port int32) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, StageLimit)
	defer cancel()
	if t.Target.GatewayClass == "" {
		return t.serviceAddress(ctx, port)
	}
	gateway, err := t.WaitGateway(ctx, GatewayName)
	if err != nil {
		return "", GatewayError(err)
	}
	addresses, err := t.Addresses(gateway)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(addresses[0], strconv.Itoa(int(port))), nil
}

// serviceAddress is where the data plane's Service answers.
func (t *Trial) serviceAddress(ctx context.Context, port int32) (string, error) {
	replicas, err := t.Replicas(ctx, port)
	if err != nil {
		return "", err
	}
	namespace, name, _ := strings.Cut(replicas[0].Service, "/")
	key := client.ObjectKey{Namespace: namespace, Name: name}
	var host string
	_, err = kube.Wait(ctx, t.Kube, "service "+key.String(), key, func(s *corev1.Service) (bool, string) {
		for _, in := range s.Status.LoadBalancer.Ingress {
			if host = cmp.Or(in.IP, in.Hostname); host != "" {
				return true, host
			}
		}
		return false, "it has no address"
	})
	if err != nil {
		return "", GatewayError(err)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}

// wordsLimit bounds what is asked of pods, and wordsEvery is how often that is
// done while a Gateway is waited for.
const (
	wordsLimit = 5 * time.Second
	wordsEvery = 10 * time.Second
)

// tellWords says every so often what a Gateway's pods lack, until it is
// stopped: nobody need wait for the limit to hear of an image that is missing.
func (t *Trial) tellWords(gateway string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var told sync.WaitGroup
	told.Go(func() {
		tick := time.NewTicker(wordsEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if words := t.podWords(ctx, gateway); words != "" && ctx.Err() == nil {
				t.Progress("waiting for the Gateway; %s", words)
			}
		}
	})
	return func() { cancel(); told.Wait() }
}

// podWords are those of both planes' pods, as far as they can be had.
func (t *Trial) podWords(ctx context.Context, gateway string) string {
	ctx, cancel := context.WithTimeout(ctx, wordsLimit)
	defer cancel()
	planes, err := t.ControlPlanes()
	if err != nil {
		return ""
	}
	if data, err := t.Target.DataPlane.For(t.Namespace, gateway); err == nil {
		planes = append(planes, data)
	}
	var all []string
	for _, plane := range planes {
		selector, err := labels.Parse(plane.Labels)
		if err != nil {
			continue
		}
		if words, err := kube.PodWords(ctx, t.Kube, plane.Namespace, selector); err == nil && words != "" {
			all = append(all, words)
		}
	}
	return strings.Join(all, "; ")
}

// checkImages is the gate that what runs is what was asked for.
func (t *Trial) checkImages(ctx context.Context) error {
	if len(t.Target.Images) == 0 {
		return nil
	}
	planes, err := t.ControlPlanes()
	if err != nil {
		return Invalid{err}
	}
	data, err := t.DataPlane()
	if err != nil {
		return Invalid{err}
	}
	var others []string
	for _, plane := range append(planes, data) {
		selector, err := labels.Parse(plane.Labels)
		if err != nil {
			return Invalid{err}
		}
		_, wrong, err := kube.OtherImages(ctx, t.Kube, plane.Namespace, selector, t.Target.Images)
		if err != nil {
			return Invalid{err}
		}
		others = append(others, wrong...)
	}
	t.Gate("other-image", "Containers that run another image than was asked for", "containers", float64(len(others)), 0)
	if len(others) > 0 {
		return Invalid{errors.New(strings.Join(others, "; "))}
	}
	return nil
}
