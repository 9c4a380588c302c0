package implementation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// fileName is the file that makes a folder an implementation.
const fileName = "implementation.yaml"

// Load reads the implementation in a folder. The error joins every problem
// that it has.
func Load(folder fs.FS) (*Implementation, error) {
	data, err := fs.ReadFile(folder, fileName)
	if err != nil {
		return nil, fmt.Errorf("no implementation: %w", err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileName, err)
	}
	i, problems := decode(folder, asJSON)
	if len(problems) == 0 {
		problems = slices.Concat(i.checkVariants(), i.checkVersions(), i.checkBeside())
	}
	for n, p := range problems {
		problems[n] = fmt.Errorf("%s: %w", fileName, p)
	}
	return i, errors.Join(problems...)
}

// decode reads one form of an implementation: the default, or a variant.
func decode(folder fs.FS, data []byte) (*Implementation, []error) {
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, []error{err}
	}
	problems := expandTree(tree)
	expanded, err := json.Marshal(tree)
	if err != nil {
		return nil, []error{err}
	}
	i := &Implementation{files: folder, source: data}
	if err := yaml.UnmarshalStrict(expanded, i); err != nil {
		return nil, append(problems, errors.New(strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")))
	}
	problems = append(problems, i.readFiles()...)
	return i, append(problems, i.Validate()...)
}

// readFiles reads the files of values that the data names, and tells recipes
// where theirs are.
func (i *Implementation) readFiles() []error {
	var problems []error
	read := func(at, file string) map[string]any {
		if file == "" {
			return nil
		}
		values, err := readValues(i.files, file)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", at, err))
		}
		return values
	}
	i.values = read("chart.values", i.Chart.Values)
	for n := range i.Before {
		i.Before[n].values = read(fmt.Sprintf("before[%d].chart.values", n), i.Before[n].Chart.Values)
	}
	for n := range i.BackendPolicies {
		if err := i.BackendPolicies[n].read(i.files); err != nil {
			problems = append(problems, fmt.Errorf("policies[%d].template: %w", n, err))
		}
	}
	if i.RouteDialect != nil {
		if err := i.RouteDialect.read(i.files); err != nil {
			problems = append(problems, err)
		}
	}
	for n, img := range i.Images {
		if img.Source != nil {
			img.Source.Folder = i.files
		}
		if img.WhenBuilt != nil {
			img.WhenBuilt.values = read(fmt.Sprintf("images[%d].whenBuilt.values", n), img.WhenBuilt.Values)
		}
	}
	return problems
}

// Placeholder stands in a new description for what its author must know.
const Placeholder = "FILL-IN"

// expandTree fills in the templates, all but those of the data plane and of
// control planes of Gateways, which wait for their Gateway, and those of
// patches, which wait for their turn.
func expandTree(tree map[string]any) []error {
	text := func(value any) string { s, _ := value.(string); return s }
	vars := Vars{Version: text(tree["version"])}
	if project, ok := tree["project"].(map[string]any); ok {
		vars.Proxy = text(project["dataPlaneProxyVersion"])
	}
	if release, ok := tree["release"].(map[string]any); ok {
		vars.Release = Release{Name: text(release["name"]), Namespace: text(release["namespace"])}
	}
	problems := unfilled(tree)
	expand := func(path, text string) string {
		out, err := vars.expand(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
			return text
		}
		return out
	}
	later := func(path string) bool {
		return slices.Contains([]string{"dataPlane", "variants", "versions", "beside", "controlPlane.perGateway"}, path)
	}
	for key := range tree {
		tree[key] = walk(key, tree[key], later, expand)
	}
	return problems
}

// unfilled finds what the author of a new description has not filled in.
func unfilled(tree map[string]any) []error {
	var problems []error
	walk("", tree, func(string) bool { return false }, func(path, text string) string {
		if strings.Contains(text, Placeholder) {
			problems = append(problems, fmt.Errorf("%s: still says %s", path, Placeholder))
		}
		return text
	})
	return problems
}

func readValues(folder fs.FS, file string) (map[string]any, error) {
	data, err := fs.ReadFile(folder, file)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return values, nil
}

// WithVariant returns the implementation as the variant installs it; the
// empty name is the default.
func (i *Implementation) WithVariant(name string) (*Implementation, error) {
	if name == i.Variant {
		return i, nil
	}
	for _, v := range i.Variants {
		if v.Name == name {
			effective, problems := i.apply(v)
			return effective, errors.Join(problems...)
		}
	}
	var known []string
	for _, v := range i.Variants {
		known = append(known, v.Name)
	}
	return nil, unknown("implementation "+i.Name+": variant", name, known)
}

func (i *Implementation) apply(v Variant) (*Implementation, []error) {
	effective, problems := i.patched(v.Patch)
	if effective == nil {
		return nil, problems
	}
	effective.Variant = v.Name
	if v.Values != "" {
		values, err := readValues(i.files, v.Values)
		if err != nil {
			return nil, append(problems, fmt.Errorf("values: %w", err))
		}
		effective.values = merge(effective.values, values)
	}
	return effective, problems
}

// patched lays a JSON merge patch over the implementation's data.
func (i *Implementation) patched(change map[string]any) (*Implementation, []error) {
	data := i.source
	if change != nil {
		patch, err := json.Marshal(change)
		if err != nil {
			return nil, []error{err}
		}
		if data, err = jsonpatch.MergePatch(i.source, patch); err != nil {
			return nil, []error{fmt.Errorf("patch: %w", err)}
		}
	}
	effective, problems := decode(i.files, data)
	if effective != nil {
		effective.setFrom = i.setFrom
		effective.add(i.added...)
	}
	return effective, problems
}

// add adds deviations that come of how it is used, and that no data lists.
func (i *Implementation) add(deviations ...Deviation) {
	i.added = slices.Concat(i.added, deviations)
	i.Deviations = slices.Concat(i.Deviations, deviations)
}

// WithValues returns the implementation as it is installed with values laid
// over its own, which is a deviation that the result lists.
func (i *Implementation) WithValues(values map[string]any) (*Implementation, error) {
	if len(values) == 0 {
		return i, nil
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	changed := *i
	changed.values = merge(i.values, values)
	changed.add(Deviation{What: "Values of the chart: " + string(text), Why: "The plan sets them."})
	return &changed, nil
}

// checkVariants holds each variant, as it would be installed, to the same
// rules as the default.
func (i *Implementation) checkVariants() []error {
	var problems []error
	for n, v := range i.Variants {
		_, found := i.apply(v)
		for _, p := range found {
			problems = append(problems, fmt.Errorf("variants[%d] (%s): %w", n, v.Name, p))
		}
	}
	return problems
}

// Files are those of the implementation's own folder.
func (i *Implementation) Files() fs.FS { return i.files }

// Values is what is set beyond the chart's own defaults: a copy.
func (i *Implementation) Values() map[string]any { return merge(nil, i.values) }

// merge lays over onto a copy of base, maps into maps, as Helm does.
func merge(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range over {
		if m, ok := value.(map[string]any); ok {
			below, _ := out[key].(map[string]any)
			value = merge(below, m)
		}
		out[key] = value
	}
	return out
}
