package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

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

// current tells whether dir holds everything of the target, built from what
// the stamp says.
func (t target) current(dir, stamp string) bool {
	recorded, err := os.ReadFile(t.stampFile(dir))
	if err != nil || strings.TrimSpace(string(recorded)) != stamp {
		return false
	}
	return len(t.missing(dir)) == 0
}

func (t target) record(dir, stamp string) error {
	file := t.stampFile(dir)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("recording what was built: %w", err)
	}
	if err := os.WriteFile(file, []byte(stamp+"\n"), 0o644); err != nil {
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
