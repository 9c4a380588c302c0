package install

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

// leftoversAnnotation, on the namespace of a release, has a product's
// leftovers, so that they are known after a crash.
const leftoversAnnotation = "gatemark.dev/leftovers"

func noteLeftovers(namespace *corev1.Namespace, leftovers []implementation.Leftover) error {
	if len(leftovers) == 0 {
		return nil
	}
	text, err := json.Marshal(leftovers)
	if err != nil {
		return err
	}
	namespace.Annotations = map[string]string{leftoversAnnotation: string(text)}
	return nil
}

// notedLeftovers are those of a namespace that we made.
func notedLeftovers(ctx context.Context, c *kube.Client, name string) ([]implementation.Leftover, error) {
	namespace := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	text := namespace.Annotations[leftoversAnnotation]
	if text == "" || !kube.Owned(namespace) {
		return nil, nil
	}
	var leftovers []implementation.Leftover
	if err := json.Unmarshal([]byte(text), &leftovers); err != nil {
		return nil, fmt.Errorf("namespace %s: annotation %s: %w", name, leftoversAnnotation, err)
	}
	return leftovers, nil
}

// findLeftovers returns the leftovers that are in the cluster.
func findLeftovers(ctx context.Context, c *kube.Client, leftovers []implementation.Leftover) ([]metav1.PartialObjectMetadata, error) {
	var found []metav1.PartialObjectMetadata
	for _, l := range leftovers {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(l.APIVersion, l.Kind))
		err := c.List(ctx, list, client.MatchingFields{"metadata.name": l.Name})
		if missing(err) {
			continue // its kind is not defined
		}
		if err != nil {
			return nil, fmt.Errorf("list what may be left over (%s %s): %w", l.Kind, l.Name, err)
		}
		for _, item := range list.Items {
			item.SetGroupVersionKind(schema.FromAPIVersionAndKind(l.APIVersion, l.Kind))
			found = append(found, item)
		}
	}
	return found, nil
}

// refuseLeftovers fails where such objects are there before the product is:
// they are of an installation that is not ours, and would go with ours.
func (in *installation) refuseLeftovers(ctx context.Context) error {
	found, err := findLeftovers(ctx, in.client, in.impl.Leftovers)
	if err != nil || len(found) == 0 {
		return err
	}
	err = fmt.Errorf("%s is in the cluster already, and gatemark did not install it", kube.Describe(&found[0]))
	return failure.Hint(err, "an installation of "+in.impl.Name+" may be there or left over: remove it, or measure on another cluster")
}

// removeLeftovers removes them once the product no longer runs, which would
// make them again.
func removeLeftovers(ctx context.Context, c *kube.Client, leftovers []implementation.Leftover) error {
	found, err := findLeftovers(ctx, c, leftovers)
	if err != nil {
		return err
	}
	for _, item := range found {
		if err := c.Delete(ctx, &item); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", kube.Describe(&item), err)
		}
	}
	return nil
}
