package elasticlatency

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// proxies are the gateway's own pods: what they are of, and how many there were.
type proxies struct {
	ref      kube.WorkloadRef
	replicas int64
	scaled   bool
}

// findProxies finds out whether the gateway can be scaled.
func (e *elastic) findProxies(ctx context.Context) error {
	plane, err := e.DataPlane()
	if err != nil {
		return err
	}
	found, err := kube.WorkloadsOf(ctx, e.Kube, plane.Namespace, plane.Labels)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case !e.Installed:
		why = "gatemark did not install it, and leaves its pods alone"
	case len(found) != 1:
		why = fmt.Sprintf("its data plane's pods are of %d workloads", len(found))
	case !found[0].Scales():
		why = fmt.Sprintf("its data plane is a %s", found[0].GetKind())
	default:
		e.proxies = proxies{ref: found[0].Ref(), replicas: found[0].Replicas()}
		return nil
	}
	e.skipped[gatewayUp], e.skipped[gatewayDown] = why, why
	return nil
}

// scaleGateway has it have so many replicas more than at the beginning.
func (e *elastic) scaleGateway(ctx context.Context, more int) error {
	w, err := kube.GetWorkload(ctx, e.Kube, e.proxies.ref)
	if err != nil {
		return fmt.Errorf("%s: %w", e.proxies.ref, err)
	}
	e.proxies.scaled = more > 0
	return w.Scale(ctx, e.Kube, e.proxies.replicas+int64(more))
}

// restoreGateway undoes what a trial that was cut short left.
func (e *elastic) restoreGateway(ctx context.Context) error {
	if !e.proxies.scaled {
		return nil
	}
	return e.scaleGateway(context.WithoutCancel(ctx), 0)
}

// lookAtGateway tells whether it has its replicas.
func (e *elastic) lookAtGateway(ctx context.Context, h *happening) error {
	w, err := kube.GetWorkload(ctx, e.Kube, e.proxies.ref)
	if err != nil {
		return fmt.Errorf("%s: %w", e.proxies.ref, err)
	}
	if ready, progress := w.Ready(); !ready {
		h.unsettled = progress
	}
	return nil
}

// certify makes another certificate, and its Secret as an object.
func (e *elastic) certify() (secret client.Object, serial string, err error) {
	pair, err := scenario.NewKeyPair(host)
	if err != nil {
		return nil, "", err
	}
	return e.Secret(name, pair), pair.Serial, nil
}

// rotate puts another certificate into the listener's Secret. Only new
// connections can show it.
func (e *elastic) rotate(ctx context.Context) (serial string, err error) {
	secret, serial, err := e.certify()
	if err != nil {
		return "", err
	}
	if err := e.Kube.Update(ctx, secret); err != nil {
		return "", fmt.Errorf("update %s: %w", kube.Describe(secret), err)
	}
	return serial, nil
}
