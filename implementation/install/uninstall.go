package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

// classGrace is how long a controller may take to let go of its
// GatewayClass before we stop waiting for it.
const classGrace = 15 * time.Second

// Uninstall takes an implementation out again, and with the last one the
// Gateway API, if gatemark installed it and nobody else uses it. Gateways and
// routes should be gone before. It may be called again after a failure.
func (i *Installer) Uninstall(ctx context.Context, installed *Installed) error {
	c, err := kube.New(ctx, i.Config, kube.Agent("uninstall"))
	if err != nil {
		return err
	}
	if err := i.removeReleases(ctx, c, installed); err != nil {
		return err
	}
	return i.removeGatewayAPI(ctx, c)
}

// removeReleases removes all that belongs to one implementation alone, the
// release that was made last first.
func (i *Installer) removeReleases(ctx context.Context, c *kube.Client, installed *Installed) error {
	part := labels.Set{kube.OwnerLabel: kube.Owner, PartLabel: installed.Part}
	return i.Progress.Do(ctx, "uninstall "+installed.Part, func(ctx context.Context, update func(string, ...any)) error {
		update("GatewayClass")
		if err := deleteClasses(ctx, c, part); err != nil {
			return err
		}
		releases, err := ownReleases(ctx, c, part)
		if err != nil {
			return err
		}
		for _, r := range releases {
			update("release %s", r.name)
			if err := deleteRelease(ctx, c.Config, r.namespace, r.name); err != nil {
				return err
			}
		}
		update("pods")
		if err := emptyNamespaces(ctx, c, part); err != nil {
			return err
		}
		if err := removeLeftovers(ctx, c, installed.Leftovers); err != nil {
			return err
		}
		return deleteAll(ctx, c, part, update)
	})
}

// Clean removes every implementation that gatemark installed in the cluster
// and did not uninstall, after a crash say.
func (i *Installer) Clean(ctx context.Context) error {
	c, err := kube.New(ctx, i.Config, kube.Agent("clean"))
	if err != nil {
		return err
	}
	releases, err := ownReleases(ctx, c, labels.Set{kube.OwnerLabel: kube.Owner})
	if err != nil {
		return err
	}
	var problems []error
	done := map[string]bool{}
	for _, r := range releases {
		if done[r.part] {
			continue
		}
		done[r.part] = true
		leftovers, err := notedLeftovers(ctx, c, r.namespace)
		if err == nil {
			err = i.Uninstall(ctx, &Installed{Part: r.part, Namespace: r.namespace, Release: r.name, Leftovers: leftovers})
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	// A crash before the release was made leaves parts without one.
	if err := deleteClasses(ctx, c, labels.Set{kube.OwnerLabel: kube.Owner}); err != nil {
		return err
	}
	parts, err := labels.Parse(kube.OwnerLabel + "=" + kube.Owner + "," + PartLabel + "," + PartLabel + "!=" + GatewayAPIPart)
	if err != nil {
		return err
	}
	if err := deleteParts(ctx, c, parts); err != nil {
		return err
	}
	return i.removeGatewayAPI(ctx, c)
}

// deleteParts deletes what carries the labels of implementations, each in
// turn.
func deleteParts(ctx context.Context, c *kube.Client, selector labels.Selector) error {
	parts := map[string]bool{}
	var leftovers []implementation.Leftover
	for _, gvk := range []schema.GroupVersionKind{crdKind, {Version: "v1", Kind: "Namespace"}} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := c.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return fmt.Errorf("list what gatemark left (%s): %w", gvk.Kind, err)
		}
		for _, item := range list.Items {
			parts[item.Labels[PartLabel]] = true
			if gvk.Kind != "Namespace" {
				continue
			}
			noted, err := notedLeftovers(ctx, c, item.Name)
			if err != nil {
				return err
			}
			leftovers = append(leftovers, noted...)
		}
	}
	for name := range parts {
		part := labels.Set{kube.OwnerLabel: kube.Owner, PartLabel: name}
		if err := emptyNamespaces(ctx, c, part); err != nil {
			return err
		}
		if err := removeLeftovers(ctx, c, leftovers); err != nil {
			return err
		}
		if err := deleteAll(ctx, c, part, func(string, ...any) {}); err != nil {
			return err
		}
	}
	return nil
}

// emptyNamespaces ends what runs in our namespaces, and does so before these
// are deleted: Kubernetes looks at a namespace that is ending again only
// after half of its slowest pod's grace period. Proxies have long ones (6
// minutes), to drain connections that nobody has any more.
func emptyNamespaces(ctx context.Context, c *kube.Client, part labels.Set) error {
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces, client.MatchingLabels(part)); err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, namespace := range namespaces.Items {
		in := client.InNamespace(namespace.Name)
		for _, kind := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.Job{}} {
			if err := c.DeleteAllOf(ctx, kind, in, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				return fmt.Errorf("end what runs in namespace %s: %w", namespace.Name, err)
			}
		}
		if err := c.DeleteAllOf(ctx, &corev1.Pod{}, in, client.GracePeriodSeconds(1)); err != nil {
			return fmt.Errorf("end the pods of namespace %s: %w", namespace.Name, err)
		}
		err := kube.WaitAll(ctx, c, "the end of the pods of namespace "+namespace.Name, []client.ListOption{in}, func(pods []*corev1.Pod) (bool, string) {
			return len(pods) == 0, fmt.Sprintf("%d left", len(pods))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func deleteAll(ctx context.Context, c *kube.Client, part labels.Set, update func(string, ...any)) error {
	_, err := kube.DeleteAll(ctx, c, kube.DeleteOptions{Owned: part, Progress: update, Force: classGrace})
	return err
}

// deleteClasses deletes GatewayClasses while their controllers still run:
// these clean up what they made, then take their finalizer off.
func deleteClasses(ctx context.Context, c *kube.Client, part labels.Set) error {
	var classes gatewayv1.GatewayClassList
	err := c.List(ctx, &classes, client.MatchingLabels(part))
	if missing(err) {
		return nil // there is no Gateway API any more
	}
	if err != nil {
		return fmt.Errorf("list GatewayClasses: %w", err)
	}
	grace, cancel := context.WithTimeout(ctx, classGrace)
	defer cancel()
	for _, class := range classes.Items {
		if err := client.IgnoreNotFound(c.Delete(ctx, &class)); err != nil {
			return fmt.Errorf("delete %s: %w", kube.Describe(&class), err)
		}
		err := kube.WaitGone[gatewayv1.GatewayClass](grace, c, client.ObjectKeyFromObject(&class))
		if err != nil && ctx.Err() != nil {
			return err
		}
		// Otherwise the controller is gone or stuck, and deleteAll will
		// take the finalizer off.
	}
	return nil
}

type ownRelease struct{ part, namespace, name string }

// ownReleases finds Helm's records of releases that gatemark installed, by
// their labels: the last one first.
func ownReleases(ctx context.Context, c *kube.Client, ours labels.Set) ([]ownRelease, error) {
	records := &metav1.PartialObjectMetadataList{}
	records.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.List(ctx, records, client.MatchingLabels(ours), client.MatchingLabels{"owner": "helm"}); err != nil {
		return nil, fmt.Errorf("list Helm's releases: %w", err)
	}
	slices.SortStableFunc(records.Items, func(a, b metav1.PartialObjectMetadata) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	var found []ownRelease
	for _, r := range records.Items {
		release := ownRelease{part: r.Labels[PartLabel], namespace: r.Namespace, name: r.Labels["name"]}
		if !slices.Contains(found, release) {
			found = append(found, release)
		}
	}
	return found, nil
}

// removeGatewayAPI removes the definitions that we installed, unless another
// implementation of ours, or an object that is not ours, needs them.
func (i *Installer) removeGatewayAPI(ctx context.Context, c *kube.Client) error {
	releases, err := ownReleases(ctx, c, labels.Set{kube.OwnerLabel: kube.Owner})
	if err != nil || len(releases) > 0 {
		return err
	}
	part := labels.Set{kube.OwnerLabel: kube.Owner, PartLabel: GatewayAPIPart}
	foreign, err := foreignObjects(ctx, c)
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		err := fmt.Errorf("the Gateway API stays: removing its definitions would delete objects that are not gatemark's: %s", strings.Join(foreign, ", "))
		return failure.Hint(err, "delete these, or keep the Gateway API and take the label "+kube.OwnerLabel+" off its definitions")
	}
	return i.Progress.Do(ctx, "remove the Gateway API definitions", func(ctx context.Context, update func(string, ...any)) error {
		return deleteAll(ctx, c, part, update)
	})
}

// foreignObjects names objects that would go with the Gateway API's
// definitions of ours, and that are not gatemark's: at most a few.
func foreignObjects(ctx context.Context, c *kube.Client) ([]string, error) {
	crds := &metav1.PartialObjectMetadataList{}
	crds.SetGroupVersionKind(crdKind)
	if err := c.List(ctx, crds, client.MatchingLabels{PartLabel: GatewayAPIPart}); err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	var foreign []string
	for _, crd := range crds.Items {
		resource, group, _ := strings.Cut(crd.Name, ".")
		served, err := c.RESTMapper().ResourceFor(schema.GroupVersionResource{Group: group, Resource: resource})
		if missing(err) {
			continue // defined, not served: there can be no objects
		}
		if err != nil {
			return nil, fmt.Errorf("find version of %s: %w", crd.Name, err)
		}
		notOurs := metav1.ListOptions{LabelSelector: kube.OwnerLabel + "!=" + kube.Owner, Limit: 3}
		objects, err := c.Metadata.Resource(served).List(ctx, notOurs)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", crd.Name, err)
		}
		for _, obj := range objects.Items {
			foreign = append(foreign, strings.TrimPrefix(resource+" "+obj.Namespace+"/"+obj.Name, " "))
		}
	}
	return foreign, nil
}

// missing reports whether an error says that a kind or an object is not there.
func missing(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
