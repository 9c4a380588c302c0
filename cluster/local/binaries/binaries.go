// Package binaries finds the programs that run on a local cluster's node, and
// builds them where they come with a source checkout.
package binaries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
)

// DefaultDir returns where the programs are unless told otherwise:
// $GATEMARK_NODE_DIR, else "node" beside this executable.
func DefaultDir() (string, error) {
	if dir := os.Getenv("GATEMARK_NODE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the node's programs: %w", err)
	}
	return filepath.Join(filepath.Dir(executable), "node"), nil
}

// Ensure makes sure that dir holds every program: it builds what is missing
// or out of date where the sources are at ../cluster/node beside dir's parent
// (bin/node in a checkout), and fails where there is nothing to build from.
func Ensure(ctx context.Context, dir string, p *progress.Printer) error {
	if source := sourceOf(dir); source != "" {
		return Build(ctx, source, dir, p)
	}
	return Check(dir)
}

// Check fails, naming them all, where dir lacks programs.
func Check(dir string) error {
	var missing []string
	for _, t := range targets {
		missing = append(missing, t.missing(dir)...)
	}
	if len(missing) == 0 {
		return nil
	}
	return failure.Hint(fmt.Errorf("%s lacks the node's programs %s", dir, strings.Join(missing, ", ")),
		"build them in a checkout (make node) and set GATEMARK_NODE_DIR to its bin/node")
}

// sourceOf returns the folder of the node's module in the checkout that dir
// belongs to, or "".
func sourceOf(dir string) string {
	source := filepath.Join(filepath.Dir(filepath.Dir(dir)), "cluster", "node")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return ""
	}
	return source
}
