package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
)

// packManifests makes a chart of plain manifests, so that they are installed,
// labelled, found again after a crash and removed as every chart is. Its
// values are each container's image, and further flags where it has arguments.
func packManifests(files fs.FS, impl *implementation.Implementation) (*chart.Chart, error) {
	objects, err := readManifests(files, impl.Chart.Manifests)
	if err != nil {
		return nil, err
	}
	packed := &chart.Chart{
		Metadata: &chart.Metadata{
			APIVersion: chart.APIVersionV2, Name: impl.Name, Version: impl.Version, AppVersion: impl.Version,
			Description: "the published manifests of " + impl.Title,
		},
		Values: map[string]any{},
	}
	for n, obj := range objects {
		// The release's namespace is made before the release.
		if obj.GetKind() == "Namespace" && obj.GetName() == impl.Release.Namespace {
			continue
		}
		file := fmt.Sprintf("%03d-%s-%s.yaml", n, strings.ToLower(obj.GetKind()), obj.GetName())
		if obj.GroupVersionKind() == crdKind {
			data, err := json.Marshal(obj.Object)
			if err != nil {
				return nil, err
			}
			packed.Files = append(packed.Files, &common.File{Name: "crds/" + file, Data: data})
			continue
		}
		text, err := asTemplate(obj, packed.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kube.Describe(obj), err)
		}
		packed.Templates = append(packed.Templates, &common.File{Name: "templates/" + file, Data: []byte(text)})
	}
	packed.Schema, err = valuesSchema(packed.Values)
	return packed, err
}

// readManifests decodes the files that the patterns match, in this order. One
// that matches nothing is an error: the module has changed.
func readManifests(files fs.FS, patterns []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, pattern := range patterns {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("there is no file %s", pattern)
		}
		for _, name := range names {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				return nil, err
			}
			found, err := kube.Decode(bytes.NewReader(data))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// asTemplate writes an object as a template that takes the images and flags of
// its containers from the chart's values, and adds their defaults to these.
// It writes JSON, where a list can be made longer at any place in a line.
func asTemplate(obj *unstructured.Unstructured, values map[string]any) (string, error) {
	obj = obj.DeepCopy()
	fill := map[string]string{} // by what stands for it in the text
	for _, list := range []string{"initContainers", "containers"} {
		path := []string{"spec", "template", "spec", list}
		containers, found, err := unstructured.NestedSlice(obj.Object, path...)
		if err != nil {
			return "", err
		}
		if !found {
			continue
		}
		for _, each := range containers {
			container, ok := each.(map[string]any)
			if !ok {
				return "", fmt.Errorf("%s has a %T", list, each)
			}
			if err := openContainer(container, values, fill); err != nil {
				return "", err
			}
		}
		if err := unstructured.SetNestedSlice(obj.Object, containers, path...); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return "", err
	}
	// What the manifests themselves have in double braces is no template.
	text := strings.ReplaceAll(string(data), "{{", `{{"{{"}}`)
	for mark, template := range fill {
		text = strings.Replace(text, `"`+mark+`"`, template, 1)
	}
	return text, nil
}

// openContainer puts marks where values go.
func openContainer(container, values map[string]any, fill map[string]string) error {
	name, _ := container["name"].(string)
	published, _ := container["image"].(string)
	if _, twice := values[name]; twice {
		return fmt.Errorf("container %s is there twice: its values could not be told apart", name)
	}
	own := map[string]any{"image": published}
	values[name] = own
	of := fmt.Sprintf("(index .Values %q)", name)
	mark := "gatemark-image-of-" + name
	container["image"] = mark
	fill[mark] = "{{ " + of + ".image | toJson }}"

	args, _ := container["args"].([]any)
	if len(args) == 0 {
		return nil // what it runs with is in the image
	}
	own["flags"] = map[string]any{}
	data, err := json.Marshal(args)
	if err != nil {
		return err
	}
	mark = "gatemark-flags-of-" + name
	container["args"] = mark
	fill[mark] = strings.ReplaceAll(strings.TrimSuffix(string(data), "]"), "{{", `{{"{{"}}`) +
		"{{ range $flag, $value := " + of + `.flags }},{{ printf "--%s=%v" $flag $value | toJson }}{{ end }}]`
	return nil
}

// valuesSchema allows the values that there are, and any flags: a container
// that is called otherwise in another version must not go unnoticed.
func valuesSchema(values map[string]any) ([]byte, error) {
	closed := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	}
	containers := map[string]any{"global": map[string]any{"type": "object"}} // Helm's own
	for name, own := range values {
		properties := map[string]any{"image": map[string]any{"type": "string"}}
		if _, ok := own.(map[string]any)["flags"]; ok {
			properties["flags"] = map[string]any{"type": "object"}
		}
		containers[name] = closed(properties)
	}
	return json.Marshal(closed(containers))
}
