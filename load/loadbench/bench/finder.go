package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatemark/gatemark/load/loadbench/attack"
)

// A Finder finds programs: gatemark and this one by their paths, the others in
// the benchmark's folder or among the system's.
type Finder struct {
	// Gatemark and Self are paths, Folder is what hack/install-bench-packages
	// has filled.
	Gatemark, Self, Folder string
}

// Find returns a program's path. The error says where it was looked for.
func (f Finder) Find(program string) (string, error) {
	switch program {
	case "gatemark":
		return executable(f.Gatemark)
	case "loadbench":
		return executable(f.Self)
	}
	for _, folder := range []string{"bin", "debian/usr/bin", "debian/usr/sbin"} {
		if path, err := executable(filepath.Join(f.Folder, folder, program)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	// A user's PATH may lack it.
	if path, err := executable(filepath.Join("/usr/sbin", program)); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is neither in %s nor in PATH", program, f.Folder)
}

func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not executable", path)
	}
	return filepath.Abs(path)
}

// Environment is what a program runs with: unpacked packages need their
// libraries, and all others must not get them.
func (f Finder) Environment(path string) []string {
	env := os.Environ()
	debian, err := filepath.Abs(filepath.Join(f.Folder, "debian"))
	if err != nil || !strings.HasPrefix(path, debian+"/") {
		return env
	}
	// The pattern is well-formed, which is all that Glob can object to.
	libraries, _ := filepath.Glob(filepath.Join(debian, "usr/lib/*-linux-gnu*"))
	return append(env, "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
}

// check tells whether a tool can be used, and its version.
func (f Finder) check(ctx context.Context, t attack.Tool) (version string, err error) {
	path, err := f.Find(t.Program)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if t.Program == "gatemark" {
		if err := f.command(ctx, path, "load", "--help").Run(); err != nil {
			return "", fmt.Errorf("%s has no load command", path)
		}
	}
	if t.Version == nil {
		return "", nil
	}
	// Some exit with 1 after they have told it.
	out, err := f.command(ctx, path, t.Version...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if line == "" {
		return "", fmt.Errorf("%s %s printed nothing: %v", path, strings.Join(t.Version, " "), err)
	}
	return line, nil
}

func (f Finder) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = f.Environment(path)
	return cmd
}
