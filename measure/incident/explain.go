package incident

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// lastLog returns the end of the log of the container that ended last.
func (w *Watcher) lastLog(pod *corev1.Pod, container string) string {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	previous := hasRestarted(pod, container)
	text, err := w.log(ctx, pod, container, previous)
	if !previous {
		// It may have been restarted while we asked: then this was the new
		// one's log.
		now, getErr := w.client.Clientset.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if getErr == nil && hasRestarted(now, container) {
			text, err = w.log(ctx, pod, container, true)
		}
	}
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return text
}

// hasRestarted reports whether the container that ended is the previous one.
func hasRestarted(pod *corev1.Pod, container string) bool {
	for _, c := range containers(pod) {
		if c.Name == container {
			return c.State.Terminated == nil
		}
	}
	return true
}

func (w *Watcher) log(ctx context.Context, pod *corev1.Pod, container string, previous bool) (string, error) {
	data, err := w.client.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &w.lines,
	}).DoRaw(ctx)
	return string(data), err
}

func (w *Watcher) events(pod *corev1.Pod) []string {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	list, err := w.client.Clientset.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.name", pod.Name).String(),
	})
	if err != nil {
		return []string{fmt.Sprintf("(no events: %v)", err)}
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return cmp.Compare(last(a).Unix(), last(b).Unix()) })
	var lines []string
	for _, e := range list.Items[max(0, len(list.Items)-20):] {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", last(e).UTC().Format(time.RFC3339), e.Type, e.Reason, e.Message))
	}
	return lines
}

func last(e corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
