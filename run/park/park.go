// Package park sets implementations aside while another one is measured, and
// brings them back. What each workload was stands in a restore manifest before
// anything is changed, so that whoever comes after a crash can bring everything
// back: the next runner, the end of the session, or gatemark clean. What there
// is to do is always read from the manifests and the cluster, and never
// remembered, so that each call may be repeated.
package park

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// An Installation is an implementation that a run installed.
type Installation struct {
	// Name is the implementation's.
	Name         string `json:"name"`
	GatewayClass string `json:"gatewayClass"`
	// ControlPlane lists its workloads.
	ControlPlane []kube.WorkloadRef `json:"controlPlane"`
	DataPlane    DataPlane          `json:"dataPlane"`
}

// A DataPlane finds the workloads of a data plane.
type DataPlane struct {
	Kind string `json:"kind"`
	// Selector finds them by their labels, for the Gateway that it is given;
	// the same ones for all where they are not PerGateway.
	scenario.Selector
	PerGateway bool `json:"perGateway"`
}

// A Parker sets aside, and brings back, what one run installed. It touches
// nothing that does not carry the run's label, be it by itself, or by its
// namespace, or by the Gateway that it serves.
type Parker struct {
	Kube *kube.Client
	Run  string
	// Namespace is where restore manifests are kept.
	Namespace string
	// Step, if it is not nil, is told of each step after it was taken.
	Step func(what string)
	// Limit bounds each wait for pods: 2 minutes by default.
	Limit time.Duration
}

// tries is how often a plane is looked at anew when it changes under our hands.
const tries = 5

// Park sets an installation aside: its control plane first, which could
// otherwise bring its data plane back, and then its data plane. It returns when
// no pod of either is left, and reports whether there was anything to do.
func (p *Parker) Park(ctx context.Context, in Installation) (changed bool, err error) {
	for _, find := range []func(context.Context, Installation) ([]kube.Workload, error){p.controlPlane, p.dataPlane} {
		did, err := p.plane(ctx, in, find)
		changed = changed || did
		if err != nil {
			return changed, fmt.Errorf("set %s aside: %w", in.Name, err)
		}
	}
	return changed, nil
}

func (p *Parker) plane(ctx context.Context, in Installation, find func(context.Context, Installation) ([]kube.Workload, error)) (changed bool, err error) {
	for range tries {
		var found []kube.Workload
		if found, err = find(ctx, in); err != nil {
			return changed, err
		}
		var did bool
		did, err = p.stop(ctx, in.Name, found)
		changed = changed || did
		if err == nil {
			return changed, p.awaitNoPods(ctx, found)
		}
		if !errors.Is(err, kube.ErrWorkloadChanged) {
			return changed, err
		}
	}
	return changed, err
}

// stop stops those of the workloads that are not, after it has noted what they
// are.
func (p *Parker) stop(ctx context.Context, name string, found []kube.Workload) (changed bool, err error) {
	running := slices.DeleteFunc(slices.Clone(found), kube.Workload.Stopped)
	if len(running) == 0 {
		return false, nil
	}
	if err := p.note(ctx, name, running); err != nil {
		return false, err
	}
	p.step("wrote the restore manifest of %s", name)
	for _, w := range running {
		if err := w.Stop(ctx, p.Kube); err != nil {
			return true, fmt.Errorf("stop %s: %w", w.Ref(), err)
		}
		p.step("stopped %s", w.Ref())
	}
	return true, nil
}

func (p *Parker) step(format string, args ...any) {
	if p.Step != nil {
		p.Step(fmt.Sprintf(format, args...))
	}
}

// awaitNoPods waits until the pods of stopped workloads are gone.
func (p *Parker) awaitNoPods(ctx context.Context, stopped []kube.Workload) error {
	return p.await(ctx, func() (string, error) {
		for _, w := range stopped {
			selector, err := w.Pods()
			if err != nil {
				return "", err
			}
			var pods corev1.PodList
			if err := p.Kube.List(ctx, &pods, client.InNamespace(w.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}); err != nil {
				return "", err
			}
			if err := kube.Hasten(ctx, p.Kube, pods.Items); err != nil {
				return "", err
			}
			if n := len(pods.Items); n > 0 {
				return fmt.Sprintf("%s was stopped and has %d pods", w.Ref(), n), nil
			}
		}
		return "", nil
	})
}

// AwaitReady waits until every workload of an installation has all its pods.
func (p *Parker) AwaitReady(ctx context.Context, in Installation) error {
	return p.await(ctx, func() (string, error) {
		control, err := p.controlPlane(ctx, in)
		if err != nil {
			return "", err
		}
		data, err := p.dataPlane(ctx, in)
		if err != nil {
			return "", err
		}
		for _, w := range append(control, data...) {
			if ready, words := w.Ready(); !ready {
				return fmt.Sprintf("%s is not ready: %s", w.Ref(), words), nil
			}
		}
		return "", nil
	})
}

// await asks until nothing is missing any more.
func (p *Parker) await(ctx context.Context, missing func() (string, error)) error {
	limit := p.Limit
	if limit == 0 {
		limit = 2 * time.Minute
	}
	for deadline := time.Now().Add(limit); ; {
		words, err := missing()
		if err != nil || words == "" {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %s", words, limit)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", words, ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
}
