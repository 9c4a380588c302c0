package implementation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/failure"
)

// A Checkout is a directory that holds the sources of a Go module.
type Checkout struct{ Module, Dir string }

// WithCheckout returns the implementation as it is built from a directory that
// holds its Go module: programs and chart come from there.
func (i *Implementation) WithCheckout(dir string) (*Implementation, error) {
	if dir == "" {
		return i, nil
	}
	module, err := moduleIn(dir)
	if err != nil {
		return nil, failure.WithCode(fmt.Errorf("implementation %s: checkout %s: %w", i.Name, dir, err), failure.Usage)
	}
	changed := *i
	changed.Images = nil
	used := i.Chart.Module == module || slices.ContainsFunc(i.Before, func(e EarlierChart) bool { return e.Chart.Module == module })
	for _, img := range i.Images {
		if img.Source != nil {
			recipe := *img.Source
			recipe.Files = nil
			for _, f := range img.Source.Files {
				if f.Go != nil && f.Go.Module == module {
					program := *f.Go
					program.Checkout = dir
					f.Go, used = &program, true
				}
				recipe.Files = append(recipe.Files, f)
			}
			img.Source = &recipe
			// No image registry has what is in a directory here.
			if builtFrom(recipe, dir) {
				img.Official = ""
			}
		}
		changed.Images = append(changed.Images, img)
	}
	if !used {
		err := fmt.Errorf("implementation %s: checkout %s holds Go module %s, which nothing of it is made from", i.Name, dir, module)
		return nil, failure.WithCode(err, failure.Usage)
	}
	changed.Checkout = Checkout{Module: module, Dir: dir}
	changed.add(Deviation{
		What: fmt.Sprintf("What comes from Go module %s was taken from the directory %s.", module, dir),
		Why:  "The plan says so.",
	})
	return &changed, nil
}

func builtFrom(r image.Recipe, dir string) bool {
	for _, f := range r.Files {
		if f.Go != nil && f.Go.Checkout == dir {
			return true
		}
	}
	return false
}

// moduleIn reads which module a directory holds.
func moduleIn(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	if module := strings.TrimSpace(modfile.ModulePath(data)); module != "" {
		return module, nil
	}
	return "", errors.New("its go.mod names no module")
}
