package install

import (
	"bytes"
	"context"
	"fmt"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

// checkFree makes sure that neither the releases nor what the product makes by
// itself are there. What an earlier run of ours left is removed; anyone else's
// is not touched.
func (in *installation) checkFree(ctx context.Context, releases []*release) error {
	namespace, left := in.impl.Release.Namespace, false
	for _, r := range releases {
		found, err := findRelease(in.client.Config, namespace, r.name)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		if found.Labels[kube.OwnerLabel] != kube.Owner {
			err := fmt.Errorf("there is a release %s/%s already, which gatemark did not install", namespace, r.name)
			return failure.Hint(err, "remove it, or measure on another cluster")
		}
		in.Progress.Printf("removing release %s/%s, which an earlier run left", namespace, r.name)
		left = true
	}
	if left {
		if err := in.removeReleases(ctx, in.client, in.installed); err != nil {
			return err
		}
	}
	return in.refuseLeftovers(ctx)
}

// prepare makes the releases' namespace and applies the charts' definitions,
// but for those of the Gateway API, which are one for all implementations.
func (in *installation) prepare(ctx context.Context, releases []*release, _ func(string, ...any)) error {
	namespace := &corev1.Namespace{}
	namespace.Name = in.impl.Release.Namespace
	own(namespace, in.labels(in.impl.Part()))
	if err := noteLeftovers(namespace, in.impl.Leftovers); err != nil {
		return err
	}
	if err := in.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
	}
	if in.impl.SetFrom() {
		return nil // its definitions are the other version's
	}
	var definitions []*unstructured.Unstructured
	for _, r := range releases {
		found, err := ownDefinitions(r.Chart)
		if err != nil {
			return err
		}
		definitions = append(definitions, found...)
	}
	for _, crd := range definitions {
		if err := in.refuseForeign(ctx, crd); err != nil {
			return err
		}
	}
	return in.applyDefinitions(ctx, definitions, in.impl.Name)
}

// ownDefinitions are the definitions in a chart's crds directories that are
// not the Gateway API's.
func ownDefinitions(c *chart.Chart) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, file := range c.CRDObjects() {
		objects, err := kube.Decode(bytes.NewReader(file.File.Data))
		if err != nil {
			return nil, fmt.Errorf("chart %s: %s: %w", c.Name(), file.Filename, err)
		}
		for _, obj := range objects {
			if !gatewayAPIGroup(groupOf(obj)) {
				definitions = append(definitions, obj)
			}
		}
	}
	return definitions, nil
}

// refuseForeign fails if the cluster has a definition that we did not
// install: ours would overwrite it, and removing ours would take the
// objects of others with it.
func (in *installation) refuseForeign(ctx context.Context, crd *unstructured.Unstructured) error {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(crd.GroupVersionKind())
	err := in.client.Get(ctx, client.ObjectKeyFromObject(crd), found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for definition %s: %w", crd.GetName(), err)
	}
	if kube.Owned(found) {
		return nil
	}
	err = fmt.Errorf("definition %s is in the cluster already, and gatemark did not install it", crd.GetName())
	return failure.Hint(err, "an installation of "+in.impl.Name+" may be left over: remove it, or measure on another cluster")
}
