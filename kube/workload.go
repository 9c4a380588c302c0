package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A WorkloadRef names a Deployment, StatefulSet or DaemonSet.
type WorkloadRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r WorkloadRef) String() string {
	return strings.ToLower(r.Kind) + " " + r.Namespace + "/" + r.Name
}

// A Workload is a Deployment, StatefulSet or DaemonSet as it was read.
type Workload struct{ *unstructured.Unstructured }

const daemonSet = "DaemonSet"

// idleKey is the label that no node has: a DaemonSet that asks for it in its
// nodeSelector has no pods.
const idleKey = OwnerLabel + "-set-aside"

// ErrWorkloadChanged says that a workload is not any more as it was read.
var ErrWorkloadChanged = errors.New("it changed meanwhile")

// GetWorkload reads a workload. The error of one that is not there is the API
// server's.
func GetWorkload(ctx context.Context, c *Client, ref WorkloadRef) (Workload, error) {
	w := Workload{&unstructured.Unstructured{}}
	w.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(ref.Kind))
	err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, w.Unstructured)
	return w, err
}

// ListWorkloads lists the workloads of a kind in a namespace by their labels.
func ListWorkloads(ctx context.Context, c *Client, kind, namespace, selector string) ([]Workload, error) {
	matching, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("list workloads in %s: selector %q: %w", namespace, selector, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(listKind(appsv1.SchemeGroupVersion.WithKind(kind)))
	if err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matching}); err != nil {
		return nil, fmt.Errorf("list workloads in %s by %q: %w", namespace, selector, err)
	}
	var all []Workload
	for i := range list.Items {
		w := Workload{&list.Items[i]}
		w.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind)) // a list may leave it out
		all = append(all, w)
	}
	return all, nil
}

// Ref is the workload's name.
func (w Workload) Ref() WorkloadRef {
	return WorkloadRef{Kind: w.GetKind(), Namespace: w.GetNamespace(), Name: w.GetName()}
}

// Replicas is how many pods a Deployment or StatefulSet is to have; 0 for a
// DaemonSet, which has one on each node that fits.
func (w Workload) Replicas() int64 {
	if w.GetKind() == daemonSet {
		return 0
	}
	n, found, err := unstructured.NestedInt64(w.Object, "spec", "replicas")
	if err != nil || !found {
		return 1
	}
	return n
}

// Stopped reports whether the workload is to have no pods: by its replicas,
// or, of a DaemonSet, by what Stop did.
func (w Workload) Stopped() bool {
	if w.GetKind() != daemonSet {
		return w.Replicas() == 0
	}
	_, found, err := unstructured.NestedString(w.Object, "spec", "template", "spec", "nodeSelector", idleKey)
	return err == nil && found
}

// Stop takes the workload's pods away, if it is as it was read: otherwise the
// error is ErrWorkloadChanged.
func (w Workload) Stop(ctx context.Context, c *Client) error {
	if w.GetKind() == daemonSet {
		return w.selectNodes(ctx, c, `"true"`)
	}
	return w.scale(ctx, c, 0)
}

// Resume undoes Stop, if the workload is as it was read: otherwise the error
// is ErrWorkloadChanged. replicas does not matter to a DaemonSet.
func (w Workload) Resume(ctx context.Context, c *Client, replicas int64) error {
	if w.GetKind() == daemonSet {
		return w.selectNodes(ctx, c, "null")
	}
	return w.scale(ctx, c, replicas)
}

// restartedKey is the annotation by which kubectl too has all pods of a workload
// replaced.
const restartedKey = "kubectl.kubernetes.io/restartedAt"

// Restart has all pods of the workload replaced, in the way that its strategy
// says. It returns what RestartedAt says of the workload until its owner, or
// another restart, takes that back.
func (w Workload) Restart(ctx context.Context, c *Client) (at string, err error) {
	at = time.Now().Format(time.RFC3339Nano)
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, w.GetUID(), restartedKey, at)
	if err := w.patch(ctx, c, types.MergePatchType, patch); err != nil {
		return "", fmt.Errorf("restart %s: %w", w.Ref(), err)
	}
	return at, nil
}

// RestartedAt is the mark of the last restart, or "".
func (w Workload) RestartedAt() string {
	at, _, _ := unstructured.NestedString(w.Object, "spec", "template", "metadata", "annotations", restartedKey)
	return at
}

// Scale gives a Deployment or StatefulSet another number of replicas, if it has
// as many as when it was read: otherwise the error is ErrWorkloadChanged.
func (w Workload) Scale(ctx context.Context, c *Client, replicas int64) error {
	if w.GetKind() == daemonSet {
		return fmt.Errorf("scale %s: it has a pod on each node", w.Ref())
	}
	if err := w.scale(ctx, c, replicas); err != nil {
		return fmt.Errorf("scale %s to %d: %w", w.Ref(), replicas, err)
	}
	return nil
}

// Scales reports whether the workload has a number of replicas.
func (w Workload) Scales() bool { return w.GetKind() != daemonSet }

// scale names what it changes as a condition: a resource version would fail
// with each change of the status.
func (w Workload) scale(ctx context.Context, c *Client, replicas int64) error {
	return w.patch(ctx, c, types.JSONPatchType, fmt.Appendf(nil,
		`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"test","path":"/spec/replicas","value":%d},{"op":"replace","path":"/spec/replicas","value":%d}]`,
		w.GetUID(), w.Replicas(), replicas))
}

func (w Workload) selectNodes(ctx context.Context, c *Client, value string) error {
	return w.patch(ctx, c, types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q},"spec":{"template":{"spec":{"nodeSelector":{%q:%s}}}}}`, w.GetUID(), idleKey, value))
}

func (w Workload) patch(ctx context.Context, c *Client, kind types.PatchType, patch []byte) error {
	err := c.Patch(ctx, w.DeepCopy(), client.RawPatch(kind, patch))
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return ErrWorkloadChanged
	}
	return err
}

// Ready reports whether the workload's pods are all available as it is now,
// and how many are.
func (w Workload) Ready() (bool, string) {
	number := func(field string) int64 {
		n, _, err := unstructured.NestedInt64(w.Object, "status", field)
		if err != nil {
			return 0
		}
		return n
	}
	have, want := min(number("availableReplicas"), number("updatedReplicas")), w.Replicas()
	if w.GetKind() == daemonSet {
		have, want = min(number("numberAvailable"), number("updatedNumberScheduled")), number("desiredNumberScheduled")
	}
	return number("observedGeneration") >= w.GetGeneration() && have >= want, fmt.Sprintf("%d of %d available", have, want)
}

// Pods selects the workload's pods in its namespace.
func (w Workload) Pods() (labels.Selector, error) {
	raw, _, err := unstructured.NestedMap(w.Object, "spec", "selector")
	if err != nil {
		return nil, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector); err != nil {
		return nil, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	pods, err := metav1.LabelSelectorAsSelector(&selector)
	if err == nil && pods.Empty() {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("selector of %s: %w", w.Ref(), err)
	}
	return pods, nil
}
