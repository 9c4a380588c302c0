package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

var goVersion = sync.OnceValues(func() (string, error) {
	out, err := command{}.run(context.Background(), "go", "env", "GOVERSION")
	return strings.TrimSpace(out), err
})

// buildGo builds p, with stand-ins from folder, into the file out. It uses the
// user's ordinary build cache, so what was compiled before is not compiled
// again.
func buildGo(ctx context.Context, p GoProgram, folder fs.FS, out string, update func(string, ...any)) error {
	dir := p.Checkout
	if dir == "" {
		scratch, err := os.MkdirTemp("", "gatemark-build-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		if err := writeStandIns(p, folder, scratch); err != nil {
			return err
		}
		if err := scratchModule(ctx, p, scratch, update); err != nil {
			return fmt.Errorf("module %s@%s: %w", p.Module, p.Version, err)
		}
		dir = scratch
	}
	if err := compile(ctx, p, dir, out, update); err != nil {
		return fmt.Errorf("building %s: %w", p.origin(), err)
	}
	return nil
}

// scratchModule makes a module in dir that requires p's module at its
// version. A dependency's own replace directives do not count in Go, so
// those that matter come from the recipe.
func scratchModule(ctx context.Context, p GoProgram, dir string, update func(string, ...any)) error {
	update("resolving %s@%s", p.Module, p.Version)
	c := command{dir: dir, env: outsideModules()}
	steps := [][]string{{"go", "mod", "init", "gatemark.local/build"}}
	for _, r := range p.Replaces {
		from, to, _ := strings.Cut(r, " => ")
		steps = append(steps, []string{"go", "mod", "edit", "-replace", strings.TrimSpace(from) + "=" + strings.TrimSpace(to)})
	}
	steps = append(steps, []string{"go", "get", p.Package + "@" + p.Version})
	for _, argv := range steps {
		if _, err := c.run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

func compile(ctx context.Context, p GoProgram, dir, out string, update func(string, ...any)) error {
	tags := "-tags=" + strings.Join(p.Tags, ",")
	env := []string{"CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH=" + runtime.GOARCH}
	if p.Checkout == "" {
		env = append(env, outsideModules()...)
	}
	list, err := command{dir: dir, env: env}.run(ctx, "go", "list", "-deps", tags, p.Package)
	if err != nil {
		return err
	}
	total, built := strings.Count(list, "\n"), 0
	update("at most %d packages", total)
	c := command{dir: dir, env: env, line: func(line string) {
		built++
		update("package %d of at most %d: %s", built, total, line)
	}}
	// -trimpath and -buildvcs=false keep this machine's paths and the
	// checkout's state out of the executable: equal sources, equal bytes.
	_, err = c.run(ctx, "go", "build", "-v", "-trimpath", "-buildvcs=false", tags, "-ldflags", p.LDFlags, "-o", out, p.Package)
	return err
}

func (p GoProgram) origin() string {
	if p.Checkout != "" {
		return fmt.Sprintf("%s in %s", p.Package, p.Checkout)
	}
	return fmt.Sprintf("go module %s@%s", p.Module, p.Version)
}

// outsideModules is the environment for work on modules that are not the
// user's: a workspace or -mod=vendor of theirs would get in the way.
func outsideModules() []string {
	return []string{"GOWORK=off", strings.TrimSpace("GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod")}
}

// A Module is a Go module on disk.
type Module struct {
	Path    string
	Version string
	Dir     string // read-only
	Sum     string // of its contents, h1:...
	Error   string
}

// DownloadModule gets a module at a version into the user's module cache
// and returns where it lies.
func DownloadModule(ctx context.Context, path, version string) (Module, error) {
	var m Module
	// Outside any module, so that no go.mod in sight has a say.
	c := command{dir: os.TempDir(), env: outsideModules()}
	out, err := c.run(ctx, "go", "mod", "download", "-json", path+"@"+version)
	if err != nil {
		return m, fmt.Errorf("downloading go module %s@%s: %w", path, version, err)
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return m, fmt.Errorf("downloading go module %s@%s: reading go's answer: %w", path, version, err)
	}
	if m.Error != "" {
		return m, fmt.Errorf("downloading go module %s@%s: %s", path, version, m.Error)
	}
	return m, nil
}

func moduleFile(ctx context.Context, f ModuleFile) (string, error) {
	m, err := DownloadModule(ctx, f.Module, f.Version)
	if err != nil {
		return "", err
	}
	path := filepath.Join(m.Dir, filepath.FromSlash(f.File))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("file %s in go module %s@%s: %w", f.File, f.Module, f.Version, err)
	}
	return path, nil
}

// ModuleVersion asks Go which version of a module a query means, such as the
// beginning of a commit's hash.
func ModuleVersion(ctx context.Context, path, query string) (string, error) {
	c := command{dir: os.TempDir(), env: outsideModules()}
	out, err := c.run(ctx, "go", "list", "-m", "-f", "{{.Version}}", path+"@"+query)
	if err != nil {
		return "", fmt.Errorf("version %s of go module %s: %w", query, path, err)
	}
	return strings.TrimSpace(out), nil
}
