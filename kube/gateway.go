package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/failure"
)

// ErrNoAddress is in the error of WaitGateway when nothing but an address was
// missing.
var ErrNoAddress = errors.New("gateway has no address")

// WaitGateway waits until a Gateway and each of its listeners is accepted and
// programmed in its current generation, and has an address. The error tells
// which of these it lacks, in the words of its conditions.
func WaitGateway(ctx context.Context, c *Client, key client.ObjectKey) (*gatewayv1.Gateway, error) {
	gw, err := awaitGateway(ctx, c, key, gatewayLacks)
	if err == nil || gw == nil {
		return gw, err
	}
	if len(gw.Status.Addresses) == 0 && len(conditionsLack(gw.Status.Conditions, gw.Generation, accepted)) == 0 {
		err = failure.Hint(fmt.Errorf("%w: %w", ErrNoAddress, err),
			"does the cluster give addresses to Services of type LoadBalancer? `kubectl get services --all-namespaces` shows <pending> where not")
	}
	return gw, err
}

// WaitGatewayWithoutAddress is WaitGateway for a Gateway whose status will name
// no address: where it answers is known otherwise. That it is not programmed for
// want of one does not count.
func WaitGatewayWithoutAddress(ctx context.Context, c *Client, key client.ObjectKey) (*gatewayv1.Gateway, error) {
	return awaitGateway(ctx, c, key, func(gw *gatewayv1.Gateway) []string {
		wanted := []string{accepted, programmed}
		if p := meta.FindStatusCondition(gw.Status.Conditions, programmed); p != nil && p.Reason == string(gatewayv1.GatewayReasonAddressNotAssigned) {
			wanted = wanted[:1]
		}
		return append(conditionsLack(gw.Status.Conditions, gw.Generation, wanted...), listenersLack(gw)...)
	})
}

func awaitGateway(ctx context.Context, c *Client, key client.ObjectKey, lacks func(*gatewayv1.Gateway) []string) (*gatewayv1.Gateway, error) {
	return Wait(ctx, c, "gateway "+key.String(), key, func(gw *gatewayv1.Gateway) (bool, string) {
		missing := lacks(gw)
		return len(missing) == 0, strings.Join(missing, ", ")
	})
}

const (
	accepted   = string(gatewayv1.GatewayConditionAccepted)
	programmed = string(gatewayv1.GatewayConditionProgrammed)
)

// gatewayLacks lists what a Gateway lacks to serve, in words; nothing where it
// should serve.
func gatewayLacks(gw *gatewayv1.Gateway) []string {
	missing := append(conditionsLack(gw.Status.Conditions, gw.Generation, accepted, programmed), listenersLack(gw)...)
	if len(gw.Status.Addresses) == 0 {
		missing = append(missing, "no address")
	}
	return missing
}

func listenersLack(gw *gatewayv1.Gateway) []string {
	if ready, total, why := ListenersReady(gw); ready < total {
		return []string{fmt.Sprintf("%d of %d listeners programmed%s", ready, total, why)}
	}
	return nil
}

// ListenersReady counts the listeners of a Gateway that are accepted and
// programmed in its current generation; why quotes the first that is not.
func ListenersReady(gw *gatewayv1.Gateway) (ready, total int, why string) {
	status := map[gatewayv1.SectionName][]metav1.Condition{}
	for _, l := range gw.Status.Listeners {
		status[l.Name] = l.Conditions
	}
	for _, l := range gw.Spec.Listeners {
		missing := conditionsLack(status[l.Name], gw.Generation, accepted, programmed)
		if len(missing) == 0 {
			ready++
		} else if why == "" {
			why = fmt.Sprintf(" (%s: %s)", l.Name, strings.Join(missing, ", "))
		}
	}
	return ready, len(gw.Spec.Listeners), why
}

// conditionsLack says which of the wanted conditions are not true at that
// generation, with their own reason and message.
func conditionsLack(conditions []metav1.Condition, generation int64, wanted ...string) []string {
	var missing []string
	for _, want := range wanted {
		c := meta.FindStatusCondition(conditions, want)
		switch {
		case c == nil:
			missing = append(missing, "no condition "+want)
		case c.Status != metav1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("%s is %s (%s: %s)", want, c.Status, c.Reason, c.Message))
		case c.ObservedGeneration != generation:
			missing = append(missing, fmt.Sprintf("%s is of generation %d, not %d", want, c.ObservedGeneration, generation))
		}
	}
	return missing
}

// Current reports whether the conditions are all true at that generation, and
// otherwise says in words what is missing.
func Current(conditions []metav1.Condition, generation int64, wanted ...string) (bool, string) {
	missing := conditionsLack(conditions, generation, wanted...)
	return len(missing) == 0, strings.Join(missing, ", ")
}

// WaitGatewayClass waits until a GatewayClass is accepted.
func WaitGatewayClass(ctx context.Context, c *Client, name string) (*gatewayv1.GatewayClass, error) {
	return Wait(ctx, c, "gatewayclass "+name, client.ObjectKey{Name: name}, func(gc *gatewayv1.GatewayClass) (bool, string) {
		return Current(gc.Status.Conditions, gc.Generation, string(gatewayv1.GatewayClassConditionStatusAccepted))
	})
}

// Addresses lists what a Gateway's status says it answers on: IP addresses and
// host names.
func Addresses(gw *gatewayv1.Gateway) []string {
	var all []string
	for _, a := range gw.Status.Addresses {
		all = append(all, a.Value)
	}
	return all
}
