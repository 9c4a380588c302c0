package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A WantedImage is what some containers are to run.
type WantedImage struct {
	// Ref is its name, for a reader.
	Ref string `json:"ref"`
	// Containers are the names of those that run it.
	Containers []string `json:"containers"`
	// Digests are sha256:..., of the manifest or of the configuration: a
	// container runtime reports the one for an image that was pulled, and the
	// other for one that was loaded.
	Digests []string `json:"digests"`
}

// OtherImages holds what the containers of pods run against what they are to
// run: a tag that moved, or an image of the same name that a node had already,
// would be measured in its place. It counts the containers that were checked,
// and names those that run something else.
func OtherImages(ctx context.Context, c *Client, namespace string, selector labels.Selector, wanted []WantedImage) (checked int, others []string, err error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return 0, nil, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, status := range pod.Status.ContainerStatuses {
			at := slices.IndexFunc(wanted, func(w WantedImage) bool { return slices.Contains(w.Containers, status.Name) && len(w.Digests) > 0 })
			if at < 0 {
				continue // not ours to choose, or known to the cluster alone
			}
			checked++
			if !slices.Contains(wanted[at].Digests, imageDigest(status.ImageID)) {
				others = append(others, fmt.Sprintf("pod %s/%s: container %s runs %s, and not %s (%s), which was asked for",
					pod.Namespace, pod.Name, status.Name, status.ImageID, wanted[at].Ref, strings.Join(wanted[at].Digests, " or ")))
			}
		}
	}
	return checked, others, nil
}

// imageDigest is that in the ID of an image, which may begin with its name.
func imageDigest(id string) string {
	if at := strings.LastIndex(id, "sha256:"); at >= 0 {
		return id[at:]
	}
	return id
}
