package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// formatVersion is part of every content key: raise it when the same recipe
// comes to mean other bytes.
const formatVersion = "1"

// A preparation is a recipe whose inputs are known, and with them its key.
type preparation struct {
	recipe Recipe
	inputs []string
	key    string
	ready  map[string]string // path in the image to a file that is built already
	temp   string            // holds these, where they were built just now
}

// prepare finds the inputs. A file that is on this machine counts by its
// contents; a checkout is built first, as Go's own cache knows best what
// changed in it.
func (b *Builder) prepare(ctx context.Context, r Recipe) (*preparation, error) {
	p := &preparation{recipe: r, ready: map[string]string{}}
	for i, f := range r.Files {
		input, err := p.input(ctx, b, i, f)
		if err != nil {
			p.cleanup()
			return nil, err
		}
		p.inputs = append(p.inputs, f.Path+": "+input)
	}
	for _, host := range p.hostFiles() {
		sum, err := sha256File(host)
		if err != nil {
			p.cleanup()
			return nil, err
		}
		p.inputs = append(p.inputs, "this machine's "+host+": sha256:"+sum)
	}
	data, err := json.Marshal([]any{formatVersion, runtime.GOARCH, p.inputs, r.entrypoint(), r.user(), r.Env})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	p.key = hex.EncodeToString(sum[:])[:40]
	return p, nil
}

func (p *preparation) input(ctx context.Context, b *Builder, i int, f File) (string, error) {
	switch {
	case f.Executable != "":
		// What a link such as /proc/self/exe leads to depends on who follows it.
		executable, err := filepath.EvalSymlinks(f.Executable)
		if err != nil {
			return "", err
		}
		p.ready[f.Path] = executable
		sum, err := sha256File(executable)
		return "executable sha256:" + sum, err
	case f.Go != nil && f.Go.Checkout != "":
		if err := p.checkout(ctx, b, i, f); err != nil {
			return "", err
		}
		sum, err := sha256File(p.ready[f.Path])
		return "checkout of " + f.Go.Module + " sha256:" + sum, err
	case f.Go != nil:
		compiler, err := goVersion()
		if err != nil {
			return "", err
		}
		standIns, err := sumStandIns(*f.Go, p.recipe.Folder)
		return fmt.Sprintf("%s %s, %s, ldflags %q, tags %q, replaces %q%s", f.Go.origin(), f.Go.Package, compiler, f.Go.LDFlags, f.Go.Tags, f.Go.Replaces, standIns), err
	case f.Wheel != nil:
		return fmt.Sprintf("PyPI wheel %s %s, %s", f.Wheel.Package, f.Wheel.Version, f.Wheel.File), nil
	}
	return fmt.Sprintf("go module %s@%s, %s", f.Module.Module, f.Module.Version, f.Module.File), nil
}

func (p *preparation) checkout(ctx context.Context, b *Builder, i int, f File) error {
	if p.temp == "" {
		temp, err := os.MkdirTemp("", "gatemark-checkout-")
		if err != nil {
			return err
		}
		p.temp = temp
	}
	out := filepath.Join(p.temp, fmt.Sprint(i))
	p.ready[f.Path] = out
	return b.Progress.Do(ctx, "go build "+f.Go.Package+" in "+f.Go.Checkout, func(ctx context.Context, update func(string, ...any)) error {
		return buildGo(ctx, *f.Go, p.recipe.Folder, out, update)
	})
}

func (p *preparation) cleanup() {
	if p.temp != "" {
		os.RemoveAll(p.temp)
	}
}

// hostFiles are files of this machine that will go into the image, as far
// as they can be known before: a C library stands for all that come with it.
func (p *preparation) hostFiles() []string {
	var files []string
	if slices.ContainsFunc(p.recipe.Files, func(f File) bool { return f.Wheel != nil }) {
		libc, err := filepath.Glob("/lib*/*/libc.so.6")
		if more, err2 := filepath.Glob("/lib*/libc.so.6"); err == nil && err2 == nil {
			files = append(append(files, libc...), more...)
		}
	}
	if p.recipe.CACertificates {
		if ca := hostCertificates(); ca != "" {
			files = append(files, ca)
		}
	}
	return files
}
