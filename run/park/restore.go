package park

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
)

// Restore brings an installation back, if it was set aside, and reports
// whether it was. It does not wait for pods: AwaitReady does.
func (p *Parker) Restore(ctx context.Context, name string) (changed bool, err error) {
	manifest := &corev1.ConfigMap{}
	err = p.Kube.Get(ctx, p.key(name), manifest)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = restore(ctx, p.Kube, manifest, p.step)
	}
	if err != nil {
		return true, fmt.Errorf("bring %s back: %w", name, err)
	}
	return true, nil
}

// RestoreAll brings back whatever a run set aside whose manifests lie in a
// namespace, and returns the names of the implementations. Empty strings stand
// for every run and every namespace. No runner of these runs may be alive, or
// it could set them aside again.
func RestoreAll(ctx context.Context, c *kube.Client, namespace, run string) (restored []string, err error) {
	var manifests corev1.ConfigMapList
	if err := c.List(ctx, &manifests, client.InNamespace(namespace), client.MatchingLabels(kube.OwnedBy(run, "")), client.HasLabels{Label}); err != nil {
		return nil, fmt.Errorf("list restore manifests: %w", err)
	}
	var problems []error
	for i := range manifests.Items {
		name := manifests.Items[i].Labels[Label]
		if err := restore(ctx, c, &manifests.Items[i], func(string, ...any) {}); err != nil {
			problems = append(problems, fmt.Errorf("bring %s back: %w", name, err))
			continue
		}
		restored = append(restored, name)
	}
	slices.Sort(restored)
	return restored, errors.Join(problems...)
}

// restore brings back what a manifest lists, control planes first, and then
// deletes it. What cannot be brought back does not keep the rest.
func restore(ctx context.Context, c *kube.Client, manifest *corev1.ConfigMap, step func(string, ...any)) error {
	lines, err := linesOf(manifest)
	if err != nil {
		return err
	}
	var problems []error
	for _, l := range lines {
		if err := l.resume(ctx, c); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", l.WorkloadRef, err))
			continue
		}
		step("brought %s back", l.WorkloadRef)
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if err := c.Delete(ctx, manifest); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the restore manifest: %w", err)
	}
	return nil
}

// resume makes a workload what it was. One that is gone, was made anew, or has
// been started by somebody else since, is left as it is.
func (l line) resume(ctx context.Context, c *kube.Client) error {
	var err error
	for range tries {
		var w kube.Workload
		w, err = kube.GetWorkload(ctx, c, l.WorkloadRef)
		if err == nil && (w.GetUID() != l.UID || !w.Stopped()) {
			return nil
		}
		if err == nil {
			err = w.Resume(ctx, c, l.Replicas)
		}
		if !errors.Is(err, kube.ErrWorkloadChanged) {
			return client.IgnoreNotFound(err)
		}
	}
	return err
}

// Undisturbed returns an error if something that was set aside of an
// installation runs again, by somebody else's hand.
func (p *Parker) Undisturbed(ctx context.Context, in Installation) error {
	manifest := &corev1.ConfigMap{}
	err := p.Kube.Get(ctx, p.key(in.Name), manifest)
	if apierrors.IsNotFound(err) {
		return nil // it had nothing to stop
	}
	if err != nil {
		return err
	}
	lines, err := linesOf(manifest)
	if err != nil {
		return err
	}
	for _, l := range lines {
		w, err := kube.GetWorkload(ctx, p.Kube, l.WorkloadRef)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && !w.Stopped() {
			return fmt.Errorf("%s of %s was set aside, and somebody else started it", l.WorkloadRef, in.Name)
		}
	}
	return nil
}
