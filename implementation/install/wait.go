package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
)

func awaitEstablished(ctx context.Context, c *kube.Client, name string) error {
	_, err := kube.Wait(ctx, c, "definition "+name, client.ObjectKey{Name: name}, func(crd *apiextensionsv1.CustomResourceDefinition) (bool, string) {
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, condition.Message
			}
		}
		return false, "not established"
	})
	return err
}

// awaitDefinitions waits until the API server serves what charts defined among
// their templates: the next chart may have objects of these kinds.
func (in *installation) awaitDefinitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, in.deadline())
	defer cancel()
	crds := &metav1.PartialObjectMetadataList{}
	crds.SetGroupVersionKind(crdKind)
	if err := in.client.List(ctx, crds, client.MatchingLabels(in.labels(in.impl.Part()))); err != nil {
		return fmt.Errorf("list definitions: %w", err)
	}
	for _, crd := range crds.Items {
		if err := awaitEstablished(ctx, in.client, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

// awaitControlPlane waits until the control plane's workloads are available.
// Where they are not in time, the error has the pods' own words.
func (in *installation) awaitControlPlane(ctx context.Context, update func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(ctx, in.deadline())
	defer cancel()
	plane := in.impl.ControlPlane
	for _, w := range plane.Workloads {
		err := in.awaitWorkload(ctx, plane.Namespace, w, update)
		if err == nil {
			continue
		}
		if words, _ := in.podWords(plane.Namespace, plane.Selector); words != "" {
			err = fmt.Errorf("%w; %s", err, words)
		}
		return err
	}
	return nil
}

func (in *installation) awaitWorkload(ctx context.Context, namespace string, w implementation.Workload, update func(string, ...any)) error {
	key := client.ObjectKey{Namespace: namespace, Name: w.Name}
	what := fmt.Sprintf("%s %s", strings.ToLower(w.Kind), key)
	available := func(generation, observed int64, have, want int32) (bool, string) {
		progress := fmt.Sprintf("%d of %d available", have, want)
		update("%s: %s", what, progress)
		return observed >= generation && have >= want, progress
	}
	var err error
	switch w.Kind {
	case "Deployment":
		_, err = kube.Wait(ctx, in.client, what, key, func(d *appsv1.Deployment) (bool, string) {
			return available(d.Generation, d.Status.ObservedGeneration, min(d.Status.AvailableReplicas, d.Status.UpdatedReplicas), replicas(d.Spec.Replicas))
		})
	case "StatefulSet":
		_, err = kube.Wait(ctx, in.client, what, key, func(s *appsv1.StatefulSet) (bool, string) {
			return available(s.Generation, s.Status.ObservedGeneration, min(s.Status.AvailableReplicas, s.Status.UpdatedReplicas), replicas(s.Spec.Replicas))
		})
	case "DaemonSet":
		_, err = kube.Wait(ctx, in.client, what, key, func(d *appsv1.DaemonSet) (bool, string) {
			return available(d.Generation, d.Status.ObservedGeneration, min(d.Status.NumberAvailable, d.Status.UpdatedNumberScheduled), d.Status.DesiredNumberScheduled)
		})
	default:
		return fmt.Errorf("cannot wait for a workload of kind %s", w.Kind)
	}
	return err
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// podWords says what the pods of a namespace lack, in their own words. It works
// after the caller's context has ended.
func (in *installation) podWords(namespace string, selector map[string]string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return kube.PodWords(ctx, in.client, namespace, labels.SelectorFromSet(selector))
}
