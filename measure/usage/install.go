package usage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/usage/reading"
)

//go:embed sampler.yaml
var manifest string

// Samplers say how samplers are to be made.
type Samplers struct {
	// Namespace must exist. Run labels what is made in it.
	Namespace, Run string
	// Image has gatemark as its entry point.
	Image string
	// Secret in Namespace has the token under "token".
	Secret   string
	Interval time.Duration
}

// Install makes a sampler on each node.
func Install(ctx context.Context, c *kube.Client, s Samplers) error {
	objects, err := s.objects()
	if err != nil {
		return err
	}
	return kube.Apply(ctx, c, objects...)
}

func (s Samplers) objects() ([]*unstructured.Unstructured, error) {
	objects, err := kube.Render("sampler.yaml", manifest, map[string]any{
		"Name": SamplerName, "Namespace": s.Namespace, "Image": s.Image, "Secret": s.Secret, "Interval": s.Interval.String(),
		"Port": reading.Port, "Health": reading.HealthPath,
	})
	for _, o := range objects {
		kube.Own(o, s.Run, "")
		if err == nil {
			// The pods carry it too, so that they are known as gatemark's.
			err = ownPods(o, s.Run)
		}
	}
	return objects, err
}

func ownPods(daemonset *unstructured.Unstructured, run string) error {
	path := []string{"spec", "template", "metadata", "labels"}
	labels, _, err := unstructured.NestedStringMap(daemonset.Object, path...)
	if err != nil {
		return err
	}
	for name, value := range kube.OwnedBy(run, "") {
		labels[name] = value
	}
	return unstructured.SetNestedStringMap(daemonset.Object, labels, path...)
}

// ErrForbidden says that pods may not look at their node.
var ErrForbidden = errors.New("the cluster's policy forbids pods that read their node's folders")

// accountLimit bounds how long a new namespace may lack its service account.
const accountLimit = 20 * time.Second

// Allowed asks the API server whether it would take a sampler's pod, by a dry
// run. The DaemonSet itself it takes in any case. ErrForbidden is an answer.
func Allowed(ctx context.Context, c *kube.Client, s Samplers) error {
	objects, err := s.objects()
	if err != nil {
		return err
	}
	var daemonset appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &daemonset); err != nil {
		return err
	}
	template := daemonset.Spec.Template
	for deadline := time.Now().Add(accountLimit); ; {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: daemonset.Namespace, Name: daemonset.Name + "-trial", Labels: template.Labels},
			Spec:       *template.Spec.DeepCopy(),
		}
		err := c.Create(ctx, pod, client.DryRunAll)
		switch {
		case err == nil:
			return nil
		case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") && time.Now().Before(deadline):
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			// Pod Security answers the first; admission webhooks answer as they like.
			return fmt.Errorf("%w: %w", ErrForbidden, err)
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
