package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
)

// gatewayAPIModule holds the Gateway API's definitions.
const gatewayAPIModule = "sigs.k8s.io/gateway-api"

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// gatewayAPIGroup reports whether a definition is the Gateway API's own.
func gatewayAPIGroup(group string) bool {
	return group == "gateway.networking.k8s.io" || group == "gateway.networking.x-k8s.io"
}

// applyGatewayAPI makes the cluster have the Gateway API. What it has already
// and we did not install stays as it is.
func (in *installation) applyGatewayAPI(ctx context.Context, update func(string, ...any)) error {
	want := in.wantedGatewayAPI()
	found, err := kube.FindGatewayAPI(ctx, in.client)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	default:
		ours, err := in.gatewayAPIIsOurs(ctx)
		if err != nil {
			return err
		}
		has := implementation.GatewayAPI{Version: found.Version, Channel: found.Channel}
		if !ours {
			in.useFound(has, want)
			return nil
		}
		if has == want {
			in.installed.GatewayAPI = GatewayAPI{Version: want.Version, Channel: want.Channel}
			return nil
		}
	}
	objects, err := gatewayAPIObjects(ctx, want)
	if err != nil {
		return err
	}
	in.installed.GatewayAPI = GatewayAPI{Version: want.Version, Channel: want.Channel}
	update("%s, %s channel", want.Version, want.Channel)
	return in.applyDefinitions(ctx, objects, GatewayAPIPart)
}

// wantedGatewayAPI is the run's release, or else what the implementation
// declares. That it is another one is a deviation.
func (in *installation) wantedGatewayAPI() implementation.GatewayAPI {
	own := in.impl.GatewayAPI
	if in.GatewayAPI == nil || *in.GatewayAPI == own {
		return own
	}
	want := *in.GatewayAPI
	in.installed.Deviations = append(in.installed.Deviations, implementation.Deviation{
		What: fmt.Sprintf("The Gateway API is %s, %s channel, not %s, %s channel.", want.Version, want.Channel, own.Version, own.Channel),
		Why:  "All implementations of a run share one version and channel: the newest that one of them declares.",
	})
	return want
}

func (in *installation) gatewayAPIIsOurs(ctx context.Context) (bool, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(crdKind)
	if err := in.client.Get(ctx, client.ObjectKey{Name: "gateways.gateway.networking.k8s.io"}, crd); err != nil {
		return false, fmt.Errorf("find the Gateway API: %w", err)
	}
	return kube.Owned(crd), nil
}

func (in *installation) useFound(has, want implementation.GatewayAPI) {
	in.installed.GatewayAPI = GatewayAPI{Version: has.Version, Channel: has.Channel, Found: true}
	if has != want {
		in.installed.Deviations = append(in.installed.Deviations, implementation.Deviation{
			What: fmt.Sprintf("The Gateway API is %s, %s channel, not %s, %s channel.", has.Version, has.Channel, want.Version, want.Channel),
			Why:  "The cluster has it, and gatemark did not install it.",
		})
	}
}

// gatewayAPIObjects reads a channel's definitions, with its policy against
// unsafe upgrades, from the Gateway API's module.
func gatewayAPIObjects(ctx context.Context, want implementation.GatewayAPI) ([]*unstructured.Unstructured, error) {
	module, err := image.DownloadModule(ctx, gatewayAPIModule, want.Version)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "config", "crd", want.Channel, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var definitions, rest []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := kube.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		for _, obj := range objects {
			if obj.GroupVersionKind() == crdKind {
				definitions = append(definitions, obj)
			} else {
				rest = append(rest, obj)
			}
		}
	}
	if len(definitions) == 0 {
		return nil, fmt.Errorf("go module %s@%s has no definitions of the %s channel", gatewayAPIModule, want.Version, want.Channel)
	}
	return append(definitions, rest...), nil
}

// applyDefinitions applies objects as part's: definitions first, until the API
// server serves them, then the rest.
func (in *installation) applyDefinitions(ctx context.Context, objects []*unstructured.Unstructured, part string) error {
	for _, obj := range objects {
		own(obj, in.labels(part))
	}
	isDefinition := func(obj *unstructured.Unstructured) bool { return obj.GroupVersionKind() == crdKind }
	group, together := errgroup.WithContext(ctx)
	for _, obj := range objects {
		if isDefinition(obj) {
			group.Go(func() error { return in.applyDefinition(together, obj) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return kube.Apply(ctx, in.client, slices.DeleteFunc(slices.Clone(objects), isDefinition)...)
}

func (in *installation) applyDefinition(ctx context.Context, crd *unstructured.Unstructured) error {
	if err := kube.Apply(ctx, in.client, crd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, in.deadline())
	defer cancel()
	return awaitEstablished(ctx, in.client, crd.GetName())
}

// own adds labels to an object.
func own(obj client.Object, labels map[string]string) {
	all := obj.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	for key, value := range labels {
		all[key] = value
	}
	obj.SetLabels(all)
}

func groupOf(crd *unstructured.Unstructured) string {
	_, group, _ := strings.Cut(crd.GetName(), ".")
	return group
}
