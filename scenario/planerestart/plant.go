package planerestart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// A plant is the pods of a plane, and the workloads that they are of: found by
// their owners, so that nothing is to be known of the implementation.
type plant struct {
	kube      *kube.Client
	selectors []scenario.Selector
	workloads []kube.WorkloadRef
	// ending are the pods that the last event ends.
	ending map[types.UID]string
	// restarted are the marks of the last restart; its owner may take them back.
	restarted map[kube.WorkloadRef]string
	// replicas is how many pods there are to be; negative: as many as the
	// workloads say.
	replicas int64
}

// findPlant finds a plane of the trial's Gateway.
func (r *restarts) findPlant(ctx context.Context, of plane) (*plant, error) {
	p := &plant{kube: r.Kube, replicas: -1}
	var err error
	if of == controlPlane {
		p.selectors, err = r.ControlPlanes()
	} else {
		var data scenario.Selector
		data, err = r.DataPlane()
		p.selectors = []scenario.Selector{data}
	}
	if err != nil {
		return nil, err
	}
	for _, s := range p.selectors {
		found, err := kube.WorkloadsOf(ctx, r.Kube, s.Namespace, s.Labels)
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			if !slices.Contains(p.workloads, w.Ref()) {
				p.workloads = append(p.workloads, w.Ref())
			}
		}
	}
	if len(p.workloads) == 0 {
		return nil, fmt.Errorf("no workload has the pods of the %s", of)
	}
	return p, nil
}

// pods lists the plane's that run, or are to.
func (p *plant) pods(ctx context.Context) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, s := range p.selectors {
		matching, err := labels.Parse(s.Labels)
		if err != nil {
			return nil, err
		}
		var list corev1.PodList
		if err := p.kube.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: matching}); err != nil {
			return nil, fmt.Errorf("list the pods in %s by %q: %w", s.Namespace, s.Labels, err)
		}
		all = append(all, list.Items...)
	}
	// What was to be done once is done.
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}), nil
}

// restart has all pods replaced as the workloads' strategies say.
func restart(ctx context.Context, p *plant) error {
	if err := p.endAll(ctx); err != nil {
		return err
	}
	p.restarted = map[kube.WorkloadRef]string{}
	for _, ref := range p.workloads {
		w, err := kube.GetWorkload(ctx, p.kube, ref)
		if err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		at, err := w.Restart(ctx, p.kube)
		if err != nil {
			return err
		}
		p.restarted[ref] = at
	}
	return nil
}

// endAll notes that all pods are to end.
func (p *plant) endAll(ctx context.Context) error {
	all, err := p.pods(ctx)
	p.ending = map[types.UID]string{}
	for i := range all {
		p.ending[all[i].UID] = all[i].Name
	}
	return err
}

// killAll deletes all pods without grace.
func killAll(ctx context.Context, p *plant) error {
	all, err := p.pods(ctx)
	if err != nil {
		return err
	}
	return p.kill(ctx, all)
}

// killOne deletes one pod without grace.
func killOne(ctx context.Context, p *plant) error {
	all, err := p.pods(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	slices.SortFunc(all, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return p.kill(ctx, all[:min(len(all), 1)])
}

func (p *plant) kill(ctx context.Context, pods []corev1.Pod) error {
	p.ending = map[types.UID]string{}
	for i := range pods {
		p.ending[pods[i].UID] = pods[i].Name
		if err := p.kube.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", kube.Describe(&pods[i]), err)
		}
	}
	return nil
}

// errImpossible is why a plane cannot have what a kind does to it.
var errImpossible = errors.New("it cannot be done to its workloads")

// workload is the one that is scaled.
func (p *plant) workload(ctx context.Context) (kube.Workload, error) {
	if len(p.workloads) != 1 {
		return kube.Workload{}, fmt.Errorf("%w: there are %d to be scaled together", errImpossible, len(p.workloads))
	}
	w, err := kube.GetWorkload(ctx, p.kube, p.workloads[0])
	if err != nil {
		return w, fmt.Errorf("%s: %w", p.workloads[0], err)
	}
	if !w.Scales() {
		return w, fmt.Errorf("%w: a %s has a pod on each node", errImpossible, w.GetKind())
	}
	return w, nil
}

// scale gives the plane another number of pods.
func (p *plant) scale(ctx context.Context, replicas int64) error {
	w, err := p.workload(ctx)
	if err != nil {
		return err
	}
	p.ending, p.replicas = nil, replicas
	if w.Replicas() == replicas {
		return nil
	}
	return w.Scale(ctx, p.kube, replicas)
}

// missing says in words what the plane lacks until the last event is over, or
// "". It is an error if its owner has taken back what was done.
func (p *plant) missing(ctx context.Context) (string, error) {
	want, err := p.wanted(ctx)
	if err != nil {
		return "", err
	}
	all, err := p.pods(ctx)
	if err != nil {
		return "", err
	}
	ready := int64(0)
	for i := range all {
		if _, old := p.ending[all[i].UID]; old {
			if all[i].DeletionTimestamp == nil {
				if err := p.stillRestarting(ctx); err != nil {
					return "", err
				}
			}
			return fmt.Sprintf("pod %s was to end, and is there", all[i].Name), nil
		}
		if isReady(&all[i]) {
			ready++
		}
	}
	if ready != want || int64(len(all)) != want {
		return fmt.Sprintf("%d of %d pods are ready, and %d are to be", ready, len(all), want), nil
	}
	return "", nil
}

// stillRestarting is the error of a restart that an owner has taken back while
// there were pods left to be replaced: they never will be.
func (p *plant) stillRestarting(ctx context.Context) error {
	for ref, at := range p.restarted {
		w, err := kube.GetWorkload(ctx, p.kube, ref)
		if err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		if w.RestartedAt() != at {
			return fmt.Errorf("%w: %s was told to restart, and its owner took that back", errImpossible, ref)
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// wanted is how many pods there are to be.
func (p *plant) wanted(ctx context.Context) (int64, error) {
	want := int64(0)
	for _, ref := range p.workloads {
		w, err := kube.GetWorkload(ctx, p.kube, ref)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", ref, err)
		}
		if w.Scales() {
			want += w.Replicas()
			continue
		}
		n, _, err := unstructured.NestedInt64(w.Object, "status", "desiredNumberScheduled")
		if err != nil {
			return 0, fmt.Errorf("%s: %w", ref, err)
		}
		want += n
	}
	if p.replicas >= 0 && want != p.replicas {
		return 0, fmt.Errorf("%w: their replicas were set to %d, and their owner set them back to %d", errImpossible, p.replicas, want)
	}
	return want, nil
}

// settle waits until nothing is missing.
func (p *plant) settle(ctx context.Context, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; {
		missing, err := p.missing(ctx)
		if err != nil || missing == "" {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %s", missing, limit)
		}
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
}

// look is how often the cluster is asked how far an event is.
const look = 200 * time.Millisecond

// pause sleeps, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
