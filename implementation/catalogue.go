package implementation

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/suggest"
)

//go:embed */implementation.yaml */*.yaml */policies/*.yaml */variants/*.yaml truth/chart traefik/chart traefik/_standin
var folders embed.FS

// Catalogue returns the implementations that gatemark brings along, by name,
// without those that are internal.
func Catalogue() ([]*Implementation, error) {
	all, err := All()
	return slices.DeleteFunc(all, func(i *Implementation) bool { return i.Internal }), err
}

// All returns the internal ones too, which can be named and are in no list.
func All() ([]*Implementation, error) {
	found, err := fs.Glob(folders, "*/"+fileName)
	if err != nil {
		return nil, err
	}
	var all []*Implementation
	for _, file := range found {
		folder, err := fs.Sub(folders, path.Dir(file))
		if err != nil {
			return nil, err
		}
		i, err := Load(folder)
		if err != nil {
			return nil, fmt.Errorf("implementation/%s: %w", path.Dir(file), err)
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *Implementation) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Find returns one implementation, be it an internal one. An unknown name is a
// usage error that says what it may have meant.
func Find(name string) (*Implementation, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range all {
		if i.Name == name {
			return i, nil
		}
		if !i.Internal {
			names = append(names, i.Name)
		}
	}
	return nil, unknown("implementation", name, names)
}

func unknown(what, name string, known []string) error {
	err := fmt.Errorf("%s %q: there is none of this name; there are: %s", what, name, strings.Join(known, ", "))
	if len(known) == 0 {
		err = fmt.Errorf("%s %q: there are none", what, name)
	}
	if near := suggest.Nearest(name, known); near != "" {
		err = failure.Hint(err, "did you mean "+near+"?")
	}
	return failure.WithCode(err, failure.Usage)
}
