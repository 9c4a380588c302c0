package kube

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/failure"
)

// A GatewayAPI is what is installed of the Gateway API in a cluster.
type GatewayAPI struct {
	// Version is the bundle's, such as v1.6.1; Channel is standard or
	// experimental. Empty where the definitions do not say.
	Version, Channel string
	// Kinds maps the installed kinds to the versions served, by kind name.
	Kinds map[string][]string
}

const (
	group             = gatewayv1.GroupName
	versionAnnotation = group + "/bundle-version"
	channelAnnotation = group + "/channel"
)

// FindGatewayAPI reads the Gateway API's definitions from a cluster. It is an
// error if there are none, and if they are of different bundles.
func FindGatewayAPI(ctx context.Context, c *Client) (GatewayAPI, error) {
	found := GatewayAPI{Kinds: map[string][]string{}}
	var first apiextensionsv1.CustomResourceDefinition
	err := c.Get(ctx, client.ObjectKey{Name: "gateways." + group}, &first)
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("this cluster has no Gateway API: %w", err)
		return found, failure.Hint(err, "install its definitions first, or let gatemark install an implementation, which brings them")
	}
	if err != nil {
		return found, fmt.Errorf("find the Gateway API: %w", err)
	}
	found.Version, found.Channel = first.Annotations[versionAnnotation], first.Annotations[channelAnnotation]
	var all apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(ctx, &all); err != nil {
		return found, fmt.Errorf("find the Gateway API: %w", err)
	}
	for _, crd := range all.Items {
		if crd.Spec.Group != group {
			continue
		}
		if v := crd.Annotations[versionAnnotation]; v != found.Version {
			return found, fmt.Errorf("the Gateway API in this cluster is mixed: %s is of bundle %q, %s of %q",
				first.Name, found.Version, crd.Name, v)
		}
		for _, v := range crd.Spec.Versions {
			if v.Served {
				found.Kinds[crd.Spec.Names.Kind] = append(found.Kinds[crd.Spec.Names.Kind], v.Name)
			}
		}
	}
	return found, nil
}

// Features lists the features that a GatewayClass says its implementation
// supports. Most implementations list some; none listed means unknown.
func Features(gc *gatewayv1.GatewayClass) []string {
	var names []string
	for _, f := range gc.Status.SupportedFeatures {
		names = append(names, string(f.Name))
	}
	return names
}
