package implementation

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gatemark/gatemark/image"
)

// At returns the implementation as another release of it is installed. Where
// the data does not know the release, all else stays as it is for the one that
// it was written for, and a deviation says so. The version may be one that Go
// made of a commit.
func (i *Implementation) At(version string) (*Implementation, error) {
	if version == "" || version == i.Version {
		return i, nil
	}
	change := map[string]any{}
	at := slices.IndexFunc(i.Versions, func(v Version) bool { return v.Version == version })
	if at >= 0 {
		change = maps.Clone(i.Versions[at].Patch)
	}
	if change == nil {
		change = map[string]any{}
	}
	change["version"] = version
	effective, problems := i.patched(change)
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("implementation %s at %s: %w", i.Name, version, err)
	}
	if at < 0 && !follows(i, effective) {
		return nil, fmt.Errorf("implementation %s at %s: its chart and images are written down for %s alone, and do not follow its version", i.Name, version, i.Version)
	}
	if at < 0 {
		effective.add(Deviation{
			What: fmt.Sprintf("Images that are built here, and the Gateway API, are those of %s: the proxy is %s %s, whatever %s runs by default.",
				i.Version, i.Project.DataPlaneProxy, i.Project.DataPlaneProxyVersion, version),
			Why: fmt.Sprintf("The data was written for %s and does not know %s.", i.Version, version),
		})
	}
	return effective, nil
}

// follows reports whether what is installed differs between two versions of one
// implementation: a number alone is none.
func follows(one, other *Implementation) bool {
	if !reflect.DeepEqual(one.Chart, other.Chart) || !reflect.DeepEqual(one.Before, other.Before) || len(one.Images) != len(other.Images) {
		return true
	}
	for n, img := range one.Images {
		that := other.Images[n]
		if img.Official != that.Official || !reflect.DeepEqual(filesOf(img), filesOf(that)) {
			return true
		}
	}
	return false
}

func filesOf(img Image) []image.File {
	if img.Source == nil {
		return nil
	}
	return img.Source.Files
}

// checkVersions holds each other release to the rules of the first.
func (i *Implementation) checkVersions() []error {
	var problems []error
	seen := map[string]bool{i.Version: true}
	for n, v := range i.Versions {
		at := fmt.Sprintf("versions[%d] (%s)", n, v.Version)
		if seen[v.Version] {
			problems = append(problems, fmt.Errorf("%s: is there twice", at))
		}
		seen[v.Version] = true
		change := maps.Clone(v.Patch)
		if change == nil {
			change = map[string]any{}
		}
		change["version"] = v.Version
		_, found := i.patched(change)
		for _, p := range found {
			problems = append(problems, fmt.Errorf("%s: %w", at, p))
		}
	}
	return problems
}
