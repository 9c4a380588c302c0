package detection

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/loop"
)

// rivalName is what the other controller calls itself.
const rivalName gatewayv1.GatewayController = "gatemark.dev/rival"

// rival starts another controller, which keeps an entry of its own in the
// status of every route of a namespace, as implementations do whose Gateways
// the route names too.
func (b *Bench) rival(ctx context.Context, namespace string) (stop func() error, err error) {
	own, err := named(ctx, b.kube, "rival")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	route := &gatewayv1.HTTPRoute{}
	l := loop.Loop{
		Watched: []client.Object{route}, Log: slog.New(slog.DiscardHandler), // what it could not write it writes again
		Selected: map[client.Object]cache.ByObject{route: {Namespaces: map[string]cache.Config{namespace: {}}}},
	}
	go func() {
		ended <- l.Run(ctx, own, func(ctx context.Context, objects client.Reader) error { return claim(ctx, own, objects) })
	}()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// claim adds the entry where it is not.
func claim(ctx context.Context, c client.Client, objects client.Reader) error {
	var routes gatewayv1.HTTPRouteList
	if err := objects.List(ctx, &routes); err != nil {
		return err
	}
	var problems []error
	for i := range routes.Items {
		r := routes.Items[i].DeepCopy()
		if len(r.Spec.ParentRefs) == 0 || slices.ContainsFunc(r.Status.Parents, func(p gatewayv1.RouteParentStatus) bool { return p.ControllerName == rivalName }) {
			continue
		}
		r.Status.Parents = append(r.Status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: r.Spec.ParentRefs[0], ControllerName: rivalName,
			Conditions: []metav1.Condition{{
				Type: string(gatewayv1.RouteConditionAccepted), Status: metav1.ConditionTrue, Reason: string(gatewayv1.RouteReasonAccepted),
				ObservedGeneration: r.Generation, LastTransitionTime: metav1.Now(),
			}},
		})
		if err := c.Status().Update(ctx, r); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
