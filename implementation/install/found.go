package install

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

// Found is an implementation that runs in a cluster and that gatemark did not
// install.
type Found struct {
	// Class is its GatewayClass.
	Class string
	// Namespace is where the pods of its control plane are.
	Namespace string
	// Version is by the tag of the control plane's image; empty where that is
	// none of a release.
	Version string
	// Images are what the control plane's containers run.
	Images []Image
}

// Find looks for an installation of an implementation that gatemark did not
// make: by GatewayClasses with its controller's name, or by the one that is
// named. It returns nil if there is none.
func Find(ctx context.Context, c *kube.Client, impl *implementation.Implementation, class string) (*Found, error) {
	classes, err := foreignClasses(ctx, c, impl)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(classes, func(name string) bool { return name == class })
	switch {
	case class != "" && at < 0:
		err := fmt.Errorf("gatewayclass %s is not one that somebody else made for the controller %s", class, impl.GatewayClass.ControllerName)
		return nil, failure.Hint(err, fmt.Sprintf("there are: %q", classes))
	case len(classes) == 0:
		return nil, nil
	case class == "" && len(classes) > 1:
		class = impl.GatewayClass.Name
		if !slices.Contains(classes, class) {
			err := fmt.Errorf("the cluster has several GatewayClasses of %s: %s", impl.GatewayClass.ControllerName, strings.Join(classes, ", "))
			return nil, failure.Hint(err, "name one as --implementation class/"+classes[0])
		}
	case class == "":
		class = classes[0]
	}
	found := &Found{Class: class}
	return found, found.locate(ctx, c, impl)
}

// foreignClasses names the GatewayClasses of an implementation's controller,
// unless gatemark installed it.
func foreignClasses(ctx context.Context, c *kube.Client, impl *implementation.Implementation) ([]string, error) {
	var classes gatewayv1.GatewayClassList
	if err := c.List(ctx, &classes); missing(err) {
		return nil, nil // no Gateway API
	} else if err != nil {
		return nil, fmt.Errorf("list GatewayClasses: %w", err)
	}
	// A control plane may make its class itself, without our labels.
	ours, err := ownReleases(ctx, c, labels.Set{kube.OwnerLabel: kube.Owner, PartLabel: impl.Part()})
	if err != nil || len(ours) > 0 {
		return nil, err
	}
	var names []string
	for i := range classes.Items {
		if gc := &classes.Items[i]; string(gc.Spec.ControllerName) == impl.GatewayClass.ControllerName && !kube.Owned(gc) {
			names = append(names, gc.Name)
		}
	}
	return names, nil
}

// locate finds the control plane's pods by their labels, in whichever namespace.
func (f *Found) locate(ctx context.Context, c *kube.Client, impl *implementation.Implementation) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.MatchingLabels(impl.ControlPlane.Selector)); err != nil {
		return fmt.Errorf("look for the control plane of %s: %w", impl.Name, err)
	}
	namespaces := map[string]bool{}
	for i := range pods.Items {
		namespaces[pods.Items[i].Namespace] = true
		f.see(&pods.Items[i], impl)
	}
	selector := labels.Set(impl.ControlPlane.Selector).String()
	switch len(namespaces) {
	case 0:
		err := fmt.Errorf("gatewayclass %s is there, and no pod has the labels of its control plane, %s", f.Class, selector)
		return failure.Hint(err, "is it running? If its pods have other labels, say so in a folder of your own: gatemark implementations new")
	case 1:
		f.Namespace = pods.Items[0].Namespace
		return nil
	}
	err := fmt.Errorf("gatewayclass %s is there, and pods in %d namespaces have the labels of its control plane, %s", f.Class, len(namespaces), selector)
	return failure.Hint(err, "tell which one in a folder of your own: gatemark implementations new")
}

// tagged is the tag of a release.
var tagged = regexp.MustCompile(`:v?([0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?)(@|$)`)

// see notes what a pod of the control plane runs.
func (f *Found) see(pod *corev1.Pod, impl *implementation.Implementation) {
	for _, container := range pod.Spec.Containers {
		at := slices.IndexFunc(impl.Images, func(img implementation.Image) bool { return slices.Contains(img.Containers, container.Name) })
		if at < 0 || slices.ContainsFunc(f.Images, func(known Image) bool { return known.Ref == container.Image }) {
			continue
		}
		img := Image{Role: impl.Images[at].Role, Image: image.Image{Ref: container.Image, Origin: "found"}}
		for _, status := range pod.Status.ContainerStatuses {
			if _, digest, ok := strings.Cut(status.ImageID, "sha256:"); ok && status.Name == container.Name {
				img.Digest = "sha256:" + digest
			}
		}
		f.Images = append(f.Images, img)
		if m := tagged.FindStringSubmatch(container.Image); m != nil && f.Version == "" && img.Role == "control-plane" {
			f.Version = "v" + m[1]
		}
	}
}

// ClassNamed reads a GatewayClass. Where there is none of the name, the error
// says which there are.
func ClassNamed(ctx context.Context, c *kube.Client, name string) (*gatewayv1.GatewayClass, error) {
	var classes gatewayv1.GatewayClassList
	if err := c.List(ctx, &classes); err != nil && !missing(err) {
		return nil, fmt.Errorf("list GatewayClasses: %w", err)
	}
	var names []string
	for i := range classes.Items {
		if classes.Items[i].Name == name {
			return &classes.Items[i], nil
		}
		names = append(names, classes.Items[i].Name)
	}
	return nil, failure.Hint(fmt.Errorf("the cluster has no GatewayClass %s", name), fmt.Sprintf("there are: %q", names))
}
