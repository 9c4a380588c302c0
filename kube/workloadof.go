package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WorkloadsOf finds the workloads whose pods those in a namespace are that a
// selector selects, by their owners. They are sorted by name.
func WorkloadsOf(ctx context.Context, c *Client, namespace, selector string) ([]Workload, error) {
	matching, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("find workloads in %s: selector %q: %w", namespace, selector, err)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matching}); err != nil {
		return nil, fmt.Errorf("find workloads in %s: %w", namespace, err)
	}
	found := map[WorkloadRef]Workload{}
	for i := range pods.Items {
		owner, err := ownerOf(ctx, c, &pods.Items[i])
		if err != nil {
			return nil, fmt.Errorf("find the workload of pod %s: %w", client.ObjectKeyFromObject(&pods.Items[i]), err)
		}
		if owner.Kind == "" || found[owner].Unstructured != nil {
			continue
		}
		w, err := GetWorkload(ctx, c, owner)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", owner, err)
		}
		found[owner] = w
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Workload) int { return strings.Compare(a.Ref().String(), b.Ref().String()) }), nil
}

// ownerOf is the workload that controls a pod, by its ReplicaSet where it has
// one. A pod that nobody controls has none.
func ownerOf(ctx context.Context, c *Client, pod *corev1.Pod) (WorkloadRef, error) {
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.Kind == "ReplicaSet" {
		set := new(appsv1.ReplicaSet)
		err := c.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, set)
		if apierrors.IsNotFound(err) { // of an old rollout: its other pods tell
			return WorkloadRef{}, nil
		}
		if err != nil {
			return WorkloadRef{}, err
		}
		owner = metav1.GetControllerOf(set)
	}
	if owner == nil || !slices.Contains([]string{"Deployment", "StatefulSet", daemonSet}, owner.Kind) {
		return WorkloadRef{}, nil
	}
	return WorkloadRef{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name}, nil
}
