package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/scenario"
)

// pods are the data plane's, sorted by name.
type pods []corev1.Pod

// look finds them. Where there are none to be found, there are none.
func (c *capacity) look(ctx context.Context) (pods, error) {
	plane, err := c.DataPlane()
	if err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	selector, err := labels.Parse(plane.Labels)
	if err != nil {
		return nil, scenario.Invalid{Reason: err}
	}
	var list corev1.PodList
	if err := c.Kube.List(ctx, &list, client.InNamespace(plane.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, scenario.Invalid{Reason: fmt.Errorf("look for the data plane's pods: %w", err)}
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// gone says which pods ended or were restarted until later.
func (before pods) gone(later pods) (words []string) {
	for _, was := range before {
		at := slices.IndexFunc(later, func(p corev1.Pod) bool { return p.UID == was.UID })
		switch {
		case at < 0:
			words = append(words, fmt.Sprintf("pod %s is gone", was.Name))
		case later[at].DeletionTimestamp != nil && was.DeletionTimestamp == nil:
			words = append(words, fmt.Sprintf("pod %s was told to end", was.Name))
		default:
			words = append(words, restarted(was, later[at])...)
		}
	}
	return words
}

// restarted says which containers were restarted between two looks at a pod,
// and why.
func restarted(was, is corev1.Pod) (words []string) {
	had := map[string]int32{}
	for _, s := range was.Status.ContainerStatuses {
		had[s.Name] = s.RestartCount
	}
	for _, s := range is.Status.ContainerStatuses {
		ended := s.State.Terminated
		if n := s.RestartCount - had[s.Name]; n > 0 {
			ended = s.LastTerminationState.Terminated
		} else if ended == nil {
			continue
		}
		why := ""
		if ended != nil {
			why = fmt.Sprintf(" (%s, exit code %d)", ended.Reason, ended.ExitCode)
		}
		words = append(words, fmt.Sprintf("container %s of pod %s was restarted%s", s.Name, is.Name, why))
	}
	return words
}

// recoverLimit bounds how long the gateway may take to serve again.
const recoverLimit = 2 * time.Minute

// recover waits until the gateway serves again, which may be elsewhere.
func (c *capacity) recover(ctx context.Context) error {
	c.Progress("waiting until the gateway serves again")
	waiting, cancel := context.WithTimeout(ctx, recoverLimit)
	defer cancel()
	err := c.FindAgain(waiting)
	if err == nil {
		err = c.WaitServed(waiting)
	}
	if err != nil {
		return err
	}
	c.pods, err = c.look(ctx)
	return err
}
