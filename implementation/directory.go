package implementation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
)

// IsFolder reports whether what somebody wrote for an implementation is a
// folder and not a name: it begins as a path does.
func IsFolder(text string) bool {
	return text == "." || text == ".." || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || strings.HasPrefix(text, "/")
}

// LoadDirectory reads the implementation in a directory of this machine. What
// is wrong with it is a usage error that names every problem.
func LoadDirectory(path string) (*Implementation, error) {
	i, err := Load(os.DirFS(path))
	if errors.Is(err, fs.ErrNotExist) && i == nil {
		err = failure.Hint(err, "gatemark implementations new NAME makes a folder to fill in")
	}
	if err != nil {
		return nil, failure.WithCode(prefixed(path, err), failure.Usage)
	}
	return i, nil
}

// prefixed puts the folder in front of each of its problems.
func prefixed(path string, err error) error {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	var all []error
	for _, each := range many.Unwrap() {
		all = append(all, fmt.Errorf("%s: %w", path, each))
	}
	return errors.Join(all...)
}
