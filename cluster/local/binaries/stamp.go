package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lock makes others that would build into dir wait. The kernel drops the lock
// with this process.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(dir, ".built"), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".built", "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// stamp returns a digest of all that decides over what a build makes: our
// sources, the modules' sums, the flags, the toolchain.
func (t target) stamp(source string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %+v\n", platform(), t)
	module := filepath.Join(source, t.module)
	files, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return "", err
	}
	for _, pkg := range t.packages {
		if strings.HasPrefix(pkg, "./") {
			if files, err = filepath.Glob(filepath.Join(module, pkg, "*.go")); err != nil {
				return "", err
			}
		}
	}
	// The pause program needs no module, and must not be rebuilt for one.
	if t.out != "pause" {
		files = append(files, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading the node's sources: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", filepath.Base(file), len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// stale returns the targets that dir lacks, in whole or in part, or that were
// built from something else.
func stale(source, dir string) ([]target, error) {
	var todo []target
	for _, t := range targets {
		current, err := t.current(source, dir)
		if err != nil {
			return nil, err
		}
		if !current {
			todo = append(todo, t)
		}
	}
	return todo, nil
}

func (t target) current(source, dir string) (bool, error) {
	stamp, err := t.stamp(source)
	if err != nil {
		return false, err
	}
	recorded, err := os.ReadFile(t.stampFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading what was built: %w", err)
	}
	return strings.TrimSpace(string(recorded)) == stamp && len(t.missing(dir)) == 0, nil
}

func (t target) record(source, dir string) error {
	stamp, err := t.stamp(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.stampFile(dir), []byte(stamp+"\n"), 0o644); err != nil {
		return fmt.Errorf("recording what was built: %w", err)
	}
	return nil
}

func (t target) stampFile(dir string) string {
	return filepath.Join(dir, ".built", strings.ReplaceAll(t.name, " ", "-"))
}

// missing returns the target's files that dir lacks.
func (t target) missing(dir string) []string {
	var missing []string
	for _, file := range t.files() {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			missing = append(missing, file)
		}
	}
	return missing
}

func (t target) files() []string {
	if !strings.HasSuffix(t.out, "/") {
		return []string{t.out}
	}
	var files []string
	for _, pkg := range t.packages {
		files = append(files, filepath.Join(t.out, path.Base(pkg)))
	}
	return files
}
