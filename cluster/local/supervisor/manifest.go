package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// resources names the resource of each kind in our manifests: they are few,
// and asking the API server for them would take longer than creating them.
var resources = map[string]string{
	"APIService":         "apiservices",
	"ClusterRole":        "clusterroles",
	"ClusterRoleBinding": "clusterrolebindings",
	"EndpointSlice":      "endpointslices",
	"RoleBinding":        "rolebindings",
	"Service":            "services",
}

// create creates every object of a manifest. One that exists is left alone.
func create(ctx context.Context, client rest.Interface, manifest []byte) error {
	for doc := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		path, err := collectionPath(doc)
		if err != nil {
			return err
		}
		body, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return fmt.Errorf("reading a manifest: %w", err)
		}
		err = client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating an object at %s: %w", path, err)
		}
	}
	return nil
}

func collectionPath(doc []byte) (string, error) {
	var meta metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(doc, &meta); err != nil {
		return "", fmt.Errorf("reading a manifest: %w", err)
	}
	resource, ok := resources[meta.Kind]
	if !ok {
		return "", fmt.Errorf("reading a manifest: no resource is known for kind %q", meta.Kind)
	}
	path := "/apis/" + meta.APIVersion
	if !strings.Contains(meta.APIVersion, "/") {
		path = "/api/" + meta.APIVersion
	}
	if meta.Namespace != "" {
		path += "/namespaces/" + meta.Namespace
	}
	return path + "/" + resource, nil
}
