package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Hasten shortens the end of pods that are ending anyway to a second. Proxies
// drain for minutes; where nothing is sent to them, nobody misses that.
func Hasten(ctx context.Context, c *Client, pods []corev1.Pod) error {
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds <= 1 {
			continue
		}
		if err := c.Delete(ctx, pod, client.GracePeriodSeconds(1)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("hasten the end of %s: %w", Describe(pod), err)
		}
	}
	return nil
}
