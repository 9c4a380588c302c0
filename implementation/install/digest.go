package install

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/failure"
)

// checkImages holds what the control plane's containers run against what was
// asked for: a tag that moved, or an image of the same name that a node had
// already, would be measured in its place.
func (in *installation) checkImages(ctx context.Context, update func(string, ...any)) error {
	plane := in.impl.ControlPlane
	var pods corev1.PodList
	err := in.client.List(ctx, &pods, client.InNamespace(plane.Namespace), client.MatchingLabels(plane.Selector))
	if err != nil {
		return fmt.Errorf("pods of the control plane: %w", err)
	}
	checked := 0
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, status := range pod.Status.ContainerStatuses {
			want := in.imageOf(status.Name)
			if want == nil || want.Digest == "" {
				continue // not ours to choose, or known to the cluster alone
			}
			checked++
			if !Runs(status.ImageID, want.Digest, want.ConfigDigest) {
				err := fmt.Errorf("pod %s/%s: container %s runs %s, and not %s (%s), which was asked for",
					pod.Namespace, pod.Name, status.Name, status.ImageID, want.Ref, want.Digest)
				return failure.Hint(err, "a node has another image of this name, or the tag has moved")
			}
		}
	}
	if len(pods.Items) == 0 {
		return fmt.Errorf("no pods of the control plane in namespace %s have the labels %s", plane.Namespace, labels.Set(plane.Selector))
	}
	update("%d containers run what was asked for", checked)
	return nil
}

// imageOf is the image that a container is to run, or nil.
func (in *installation) imageOf(container string) *Image {
	for i, img := range in.installed.Images {
		for _, name := range img.Containers {
			if name == container {
				return &in.installed.Images[i]
			}
		}
	}
	return nil
}

// Runs reports whether the ID of an image, as a container's status has it, is
// that of an image with one of these digests: of the manifest for one that was
// pulled, of the configuration for one that was loaded.
func Runs(imageID string, digests ...string) bool {
	if at := strings.LastIndex(imageID, "sha256:"); at >= 0 {
		imageID = imageID[at:]
	}
	for _, digest := range digests {
		if digest != "" && imageID == digest {
			return true
		}
	}
	return false
}
