package inprocess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/feed"
	"github.com/gatemark/gatemark/truth/pods"
)

// ControlNamespace is where the control plane's Deployment is, if it has one,
// and ControlLabels select its pods.
const (
	ControlNamespace = "truth-system"
	ControlLabels    = "app.kubernetes.io/name=truth-control"
)

// controlPlane is what a chart would install.
const controlPlane = `
apiVersion: v1
kind: Namespace
metadata: {name: truth-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: truth, namespace: truth-system}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: truth-control}}
  template:
    metadata: {labels: {app.kubernetes.io/name: truth-control}}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
      - {name: control, image: in-process, args: [truth, control]}
`

// drain is how long a replica serves on after it was told to end.
const drain = 2 * time.Second

// workloads are truth's planes as pods of Deployments, each a part of this
// process.
type workloads struct {
	kube    *kube.Client
	feed    *feed.Feed
	options Options

	mu       sync.Mutex
	gateways map[string][]*replica
	errs     []error
	running  sync.WaitGroup
}

func newWorkloads(ctx context.Context, c *kube.Client, f *feed.Feed, o Options) (*workloads, error) {
	w := &workloads{kube: c, feed: f, options: o, gateways: map[string][]*replica{}}
	objects, err := kube.Render("truth", controlPlane, nil)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		kube.Own(object, "", "")
	}
	return w, errors.Join(w.join(ctx), kube.Apply(ctx, c, objects...))
}

// isTruth: it is one of truth's planes.
func isTruth(p *corev1.Pod) bool {
	return len(p.Spec.Containers) == 1 && len(p.Spec.Containers[0].Args) > 1 && p.Spec.Containers[0].Args[0] == "truth"
}

// start runs a pod, once it is bound to the node.
func (w *workloads) start(ctx context.Context, object *corev1.Pod) (*pod, error) {
	switch {
	case object.DeletionTimestamp != nil: // it ended before it began, or with another life of truth
		return nil, w.remove(ctx, object)
	case object.Spec.NodeName == "":
		return nil, w.bind(ctx, object)
	case object.Spec.NodeName != nodeName:
		return nil, nil
	case object.Spec.Containers[0].Args[1] == "control":
		return w.control(ctx, object)
	}
	return w.data(ctx, object)
}

// control runs the control plane.
func (w *workloads) control(ctx context.Context, object *corev1.Pod) (*pod, error) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	w.running.Go(func() {
		defer close(ended)
		w.fail(controlplane.Run(running, controlplane.Options{
			Kube: w.kube, Feed: w.feed, Faults: w.options.Faults, Log: w.options.Log,
			Placement: &pods.Placement{Kube: w.kube, Image: "in-process", Replicas: w.options.Replicas, Control: "http://in.process"},
		}))
	})
	return &pod{object: object, gone: cancel, ended: func() {
		cancel()
		w.removeAfter(ctx, object, ended)
	}}, sayReady(ctx, w.kube, object)
}

// data runs a replica, which is ready when it has a configuration.
func (w *workloads) data(ctx context.Context, object *corev1.Pod) (*pod, error) {
	gateway := argument(object, "--gateway")
	running, cancel := context.WithCancel(ctx)
	r, err := startReplica(running, w.feed.For(gateway), dataplane.Options{
		Number: len(w.of(gateway)), Faults: w.options.Faults, Drain: drain,
		Crash: func() { w.again(running, func() error { return w.sayRestarted(running, object) }) },
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("run pod %s: %w", client.ObjectKeyFromObject(object), err)
	}
	w.mu.Lock()
	w.gateways[gateway] = append(w.gateways[gateway], r)
	w.mu.Unlock()
	w.running.Go(func() {
		if <-r.ended; r.err != nil {
			w.fail(fmt.Errorf("gateway %s: %w", gateway, r.err))
		}
	})
	w.running.Go(func() {
		if r.Wait(running, 1) == nil {
			w.again(running, func() error { return sayReady(running, w.kube, object) })
		}
	})
	end := func() {
		w.forget(gateway, r)
		cancel()
	}
	return &pod{object: object, address: r.Address(), gone: func() {
		end()
		r.Kill()
	}, ended: func() {
		end()
		w.removeAfter(ctx, object, r.ended)
	}}, nil
}

// sayRestarted writes that a pod's container was killed and runs again, as a
// kubelet would.
func (w *workloads) sayRestarted(ctx context.Context, object *corev1.Pod) error {
	var pod corev1.Pod
	if err := w.kube.Get(ctx, client.ObjectKeyFromObject(object), &pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := pod.DeepCopy()
	container := pod.Spec.Containers[0]
	status := corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: true, RestartCount: 1}
	if all := pod.Status.ContainerStatuses; len(all) > 0 {
		status.RestartCount += all[0].RestartCount
	}
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.Now()}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	if err := w.kube.Status().Patch(ctx, &pod, client.StrategicMergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("say that pod %s was restarted: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// removeAfter removes a pod's object when what ran in it has ended.
func (w *workloads) removeAfter(ctx context.Context, object *corev1.Pod, ended <-chan struct{}) {
	w.running.Go(func() {
		<-ended
		w.again(ctx, func() error { return w.remove(ctx, object) })
	})
}

// again tries until it succeeds, or the context ends.
func (w *workloads) again(ctx context.Context, try func() error) {
	for ctx.Err() == nil {
		err := try()
		if err == nil {
			return
		}
		w.options.Log.Error("write a pod", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (w *workloads) remove(ctx context.Context, object *corev1.Pod) error {
	uid := object.UID
	return client.IgnoreNotFound(w.kube.Delete(ctx, object, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid}))
}

func (w *workloads) of(gateway string) []*replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.gateways[gateway])
}

func (w *workloads) forget(gateway string, r *replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gateways[gateway] = slices.DeleteFunc(w.gateways[gateway], func(other *replica) bool { return other == r })
}

func (w *workloads) fail(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// stop waits for the end of everything, whose context has ended.
func (w *workloads) stop() error {
	w.running.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.errs...)
}

// nodeName is the node that the pods are bound to: only those are given time to
// end.
const nodeName = "truth"

func (w *workloads) bind(ctx context.Context, object *corev1.Pod) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, UID: object.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	err := w.kube.Clientset.CoreV1().Pods(object.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // it is bound, which the cache does not show yet
		return fmt.Errorf("bind pod %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}
