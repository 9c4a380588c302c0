package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lastLines is how much of its log a container that ended is quoted with.
const lastLines = 3

// PodWords says what the pods of a selection lack, in their own words: why a
// container waits or ended, with the end of its log, or why a pod found no
// node. It is "" where they lack nothing.
func PodWords(ctx context.Context, c *Client, namespace string, selector labels.Selector) (string, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return "", fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	var words []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		word, container := podWord(pod)
		if word == "" {
			continue
		}
		if container != "" {
			if log := lastLog(ctx, c, pod, container); log != "" {
				word += fmt.Sprintf("; its log ends with %q", log)
			}
		}
		words = append(words, "pod "+pod.Name+": "+word)
	}
	return strings.Join(words, "; "), nil
}

// lastLog is the end of what a container said before it ended. What cannot be
// had is left out: it is an addition.
func lastLog(ctx context.Context, c *Client, pod *corev1.Pod, container string) string {
	for _, previous := range []bool{true, false} {
		data, err := c.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
			Container: container, Previous: previous, TailLines: ptr.To(int64(lastLines)), LimitBytes: ptr.To(int64(2000)),
		}).DoRaw(ctx)
		if text := strings.TrimSpace(string(data)); err == nil && text != "" {
			return text
		}
	}
	return ""
}

// podWord says what one pod lacks, or "". Where a container ended by itself its
// name comes with it.
func podWord(pod *corev1.Pod) (word, ended string) {
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
			word := "container " + status.Name + ": " + said(waiting.Reason, waiting.Message)
			if last := status.LastTerminationState.Terminated; last != nil {
				return word + fmt.Sprintf("; it last ended with code %d, %s", last.ExitCode, said(last.Reason, last.Message)), status.Name
			}
			return word, ""
		}
		if over := status.State.Terminated; over != nil && over.ExitCode != 0 {
			return fmt.Sprintf("container %s: ended with code %d, %s", status.Name, over.ExitCode, said(over.Reason, over.Message)), status.Name
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue {
			return said(condition.Reason, condition.Message), ""
		}
	}
	if pod.Status.Phase == corev1.PodPending {
		return said("Pending", pod.Status.Message), ""
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil && !status.Ready {
			return "container " + status.Name + ": running, not ready", ""
		}
	}
	return "", ""
}

func said(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + strings.TrimSpace(message)
}
