package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Render fills a text/template of YAML documents with data and decodes them.
// name is for error messages. It is strict: a key that data lacks, a YAML key
// given twice, an object without kind or name, and a field that a known kind
// does not have are errors. Text that may hold quotes or line ends belongs
// through printf "%q".
func Render(name, text string, data any) ([]*unstructured.Unstructured, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	var filled bytes.Buffer
	if err := t.Execute(&filled, data); err != nil {
		return nil, fmt.Errorf("fill manifest: %w", err)
	}
	objects, err := Decode(&filled)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	}
	return objects, nil
}

// Decode reads YAML documents as Render does, without a template.
func Decode(r io.Reader) ([]*unstructured.Unstructured, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	var objects []*unstructured.Unstructured
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &content); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if len(content) == 0 { // comments only
			continue
		}
		obj := &unstructured.Unstructured{Object: content}
		if obj.GetKind() == "" || obj.GetAPIVersion() == "" || obj.GetName() == "" {
			return nil, fmt.Errorf("document %d: needs apiVersion, kind and metadata.name, has %q, %q, %q",
				n, obj.GetAPIVersion(), obj.GetKind(), obj.GetName())
		}
		if scheme.Recognizes(obj.GroupVersionKind()) {
			// As JSON: what begins with a brace would be taken for it, and YAML
			// has braces too.
			asJSON, err := yaml.YAMLToJSONStrict(document)
			if err != nil {
				return nil, fmt.Errorf("document %d (%s): %w", n, Describe(obj), err)
			}
			if _, _, err := strict.Decode(asJSON, nil, nil); err != nil {
				return nil, fmt.Errorf("document %d (%s): %w", n, Describe(obj), err)
			}
		}
		objects = append(objects, obj)
	}
}

// Apply applies objects in order, server-side, as their forced manager. The
// objects stay as they are, so that they can be applied again.
func Apply(ctx context.Context, c *Client, objects ...*unstructured.Unstructured) error {
	for _, obj := range objects {
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.ForceOwnership, client.FieldOwner(FieldManager))
		if err != nil {
			return fmt.Errorf("apply %s: %w", Describe(obj), err)
		}
	}
	return nil
}

// Create creates objects in order and stops at the first error.
func Create(ctx context.Context, c *Client, objects ...client.Object) error {
	for _, obj := range objects {
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("create %s: %w", Describe(obj), err)
		}
	}
	return nil
}
