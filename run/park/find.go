package park

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
)

// controlPlane reads the control plane's workloads. One without the run's
// label is an error: somebody else installed it, and it is not ours to touch.
func (p *Parker) controlPlane(ctx context.Context, in Installation) ([]kube.Workload, error) {
	var all []kube.Workload
	for _, ref := range in.ControlPlane {
		w, err := kube.GetWorkload(ctx, p.Kube, ref)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		if !p.labelled(w) {
			return nil, fmt.Errorf("%s does not carry the label of run %s: it was not installed by it, and is left alone", ref, p.Run)
		}
		all = append(all, w)
	}
	return all, nil
}

// dataPlane finds the data plane's workloads that are the run's own: those of
// its Gateways, or of its installation.
func (p *Parker) dataPlane(ctx context.Context, in Installation) ([]kube.Workload, error) {
	if !in.DataPlane.PerGateway {
		return p.shared(ctx, in.DataPlane)
	}
	var gateways gatewayv1.GatewayList
	err := p.Kube.List(ctx, &gateways, client.MatchingLabels(kube.OwnedBy(p.Run, "")))
	if meta.IsNoMatchError(err) {
		return nil, nil // no Gateway API, no Gateways
	}
	if err != nil {
		return nil, fmt.Errorf("list the run's Gateways: %w", err)
	}
	var all []kube.Workload
	for _, gw := range gateways.Items {
		if string(gw.Spec.GatewayClassName) != in.GatewayClass {
			continue
		}
		of, err := in.DataPlane.For(gw.Namespace, gw.Name)
		if err != nil {
			return nil, err
		}
		found, err := kube.ListWorkloads(ctx, p.Kube, in.DataPlane.Kind, of.Namespace, of.Labels)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// shared finds a data plane that serves all Gateways.
func (p *Parker) shared(ctx context.Context, plane DataPlane) ([]kube.Workload, error) {
	found, err := kube.ListWorkloads(ctx, p.Kube, plane.Kind, plane.Namespace, plane.Labels)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var ns corev1.Namespace
	if err := p.Kube.Get(ctx, client.ObjectKey{Name: plane.Namespace}, &ns); err != nil {
		return nil, fmt.Errorf("namespace of the data plane: %w", err)
	}
	var ours []kube.Workload
	for _, w := range found {
		// What a control plane makes carries its labels and not ours, but in
		// a namespace that we made nobody else has a data plane.
		if p.labelled(w) || p.labelled(&ns) {
			ours = append(ours, w)
		}
	}
	return ours, nil
}

// labelled reports whether the run made an object.
func (p *Parker) labelled(obj client.Object) bool {
	return kube.Owned(obj) && obj.GetLabels()[kube.RunLabel] == p.Run
}
