package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/gatemark/gatemark/internal/progress"
)

// An Image is an image on disk, or one that a cluster can pull by itself.
type Image struct {
	// Ref is its name and tag, as it is loaded and as a pod must name it.
	Ref string `json:"ref"`
	// Digest is that of its manifest, sha256:... Empty where only the
	// cluster can reach the image registry.
	Digest string `json:"digest,omitempty"`
	// ConfigDigest is that of its configuration: what a container runtime
	// reports as the ID of an image that was loaded, not pulled.
	ConfigDigest string `json:"configDigest,omitempty"`
	Origin       Origin `json:"origin"`
	// From says what it was made from, for a reader.
	From string `json:"from"`
	// Tar is an OCI image layout, and a Docker archive, in one tar. Empty
	// for an image that was not fetched.
	Tar string `json:"tar,omitempty"`
}

// An Origin says where an image comes from.
type Origin string

// The origins.
const (
	Official   Origin = "official"   // pulled from an image registry
	Source     Origin = "source"     // built from published sources or wheels
	Executable Origin = "executable" // packed from an executable on this machine
	Checkout   Origin = "checkout"   // built from a directory
)

// A Builder makes images and keeps them. The zero value works.
type Builder struct {
	// Dir is the cache; empty means image in CacheDir.
	Dir string
	// Choice is between official images and our own builds; empty is Auto.
	Choice Choice
	// Progress shows what takes long.
	Progress *progress.Printer

	registries registries
}

// formatVersion is part of every content key: raise it when the same recipe
// comes to mean other bytes.
const formatVersion = "1"

// Build makes the image that r describes, or finds it in the cache.
func (b *Builder) Build(ctx context.Context, r Recipe) (Image, error) {
	if problems := r.Validate(); len(problems) > 0 {
		return Image{}, fmt.Errorf("image recipe %s: %w", r.Name, errors.Join(problems...))
	}
	dir, err := b.dir()
	if err != nil {
		return Image{}, err
	}
	p, err := b.prepare(ctx, r)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", r.Name, err)
	}
	defer p.cleanup()
	rec, err := cache{dir}.once(ctx, p.key, func(work string) (record, error) {
		var rec record
		err := b.Progress.Do(ctx, "image "+r.Name+" "+r.Version, func(ctx context.Context, update func(string, ...any)) error {
			rec, err = p.produce(ctx, work, update)
			return err
		})
		return rec, err
	})
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", r.Name, err)
	}
	return rec.Image, nil
}

func (b *Builder) dir() (string, error) {
	if b.Dir != "" {
		return b.Dir, nil
	}
	dir, err := CacheDir()
	return filepath.Join(dir, "image"), err
}

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
		p.ready[f.Path] = f.Executable
		sum, err := sha256File(f.Executable)
		return "executable sha256:" + sum, err
	case f.Go != nil && f.Go.Checkout != "":
		if err := p.checkout(ctx, b, i, f); err != nil {
			return "", err
		}
		sum, err := sha256File(p.ready[f.Path])
		return "checkout of " + f.Go.Module + " sha256:" + sum, err
	case f.Go != nil:
		compiler, err := goVersion()
		return fmt.Sprintf("%s %s, %s, ldflags %q, tags %q, replaces %q", f.Go.origin(), f.Go.Package, compiler, f.Go.LDFlags, f.Go.Tags, f.Go.Replaces), err
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
		return buildGo(ctx, *f.Go, out, update)
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

// produce makes the image at image.tar in the directory work.
func (p *preparation) produce(ctx context.Context, work string, update func(string, ...any)) (record, error) {
	entries := p.base()
	libraries := map[string]string{}
	for i, f := range p.recipe.Files {
		host, err := p.file(ctx, f, filepath.Join(work, fmt.Sprint(i)), update)
		if err != nil {
			return record{}, err
		}
		mode := fs.FileMode(0o755)
		if f.Module != nil {
			mode = 0o644
		}
		entries = append(entries, entry{path: f.Path, mode: mode, host: host})
		if f.Module != nil {
			continue
		}
		if err := addLibraries(ctx, host, &entries, libraries); err != nil {
			return record{}, err
		}
	}
	update("packing")
	img, err := assemble(filepath.Join(work, "layer"), entries, p.recipe)
	if err != nil {
		return record{}, err
	}
	rec, err := p.describe(img, libraries)
	if err != nil {
		return record{}, err
	}
	out, err := os.Create(filepath.Join(work, "image.tar"))
	if err != nil {
		return record{}, err
	}
	defer out.Close()
	if err := writeArchive(out, rec.Ref, img); err != nil {
		return record{}, fmt.Errorf("writing the archive: %w", err)
	}
	return rec, out.Close()
}

// file puts f's contents on this machine and returns where.
func (p *preparation) file(ctx context.Context, f File, out string, update func(string, ...any)) (string, error) {
	if ready, ok := p.ready[f.Path]; ok {
		return ready, nil
	}
	switch {
	case f.Go != nil:
		return out, buildGo(ctx, *f.Go, out, update)
	case f.Wheel != nil:
		return out, fetchWheel(ctx, *f.Wheel, out, update)
	}
	return moduleFile(ctx, *f.Module)
}

func addLibraries(ctx context.Context, executable string, entries *[]entry, sums map[string]string) error {
	libraries, err := librariesOf(ctx, executable)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if _, ok := sums[l.path]; ok {
			continue
		}
		if sums[l.path], err = sha256File(l.host); err != nil {
			return err
		}
		*entries = append(*entries, entry{path: l.path, mode: 0o755, host: l.host})
	}
	return nil
}

// assemble makes the image of one layer.
func assemble(layerFile string, entries []entry, r Recipe) (v1.Image, error) {
	layer, err := writeLayer(layerFile, entries)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: epoch}, CreatedBy: "gatemark", Comment: r.Name + " " + r.Version,
	}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = runtime.GOARCH, "linux", v1.Time{Time: epoch}
	config.Config = v1.Config{
		Entrypoint: r.entrypoint(),
		User:       r.user(),
		Env:        append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, r.Env...),
		WorkingDir: "/",
	}
	return mutate.ConfigFile(img, config)
}

func (p *preparation) describe(img v1.Image, libraries map[string]string) (record, error) {
	digest, err := img.Digest()
	if err != nil {
		return record{}, err
	}
	config, err := img.ConfigName()
	if err != nil {
		return record{}, err
	}
	return record{
		Image: Image{
			Ref:          fmt.Sprintf("gatemark.local/%s:%s-%s", p.recipe.Name, p.recipe.Version, p.key[:12]),
			Digest:       digest.String(),
			ConfigDigest: config.String(),
			Origin:       p.recipe.origin(),
			From:         p.from(libraries),
		},
		Inputs:    p.inputs,
		Libraries: libraries,
	}, nil
}

// from says in one line what the image was made from.
func (p *preparation) from(libraries map[string]string) string {
	var parts []string
	for _, f := range p.recipe.Files {
		switch {
		case f.Executable != "":
			parts = append(parts, "executable "+filepath.Base(f.Executable))
		case f.Go != nil:
			compiler, _ := goVersion() // known: prepare asked
			parts = append(parts, f.Go.origin()+", "+compiler)
		case f.Wheel != nil:
			parts = append(parts, fmt.Sprintf("PyPI wheel %s %s", f.Wheel.Package, f.Wheel.Version))
		case f.Module != nil:
			parts = append(parts, fmt.Sprintf("%s of go module %s@%s", f.Module.File, f.Module.Module, f.Module.Version))
		}
	}
	if len(libraries) > 0 {
		parts = append(parts, fmt.Sprintf("%d shared libraries of the building machine", len(libraries)))
	}
	return strings.Join(parts, "; ")
}

// origin is the least published of the files' sources.
func (r Recipe) origin() Origin {
	origin := Source
	for _, f := range r.Files {
		if f.Go != nil && f.Go.Checkout != "" {
			return Checkout
		}
		if f.Executable != "" {
			origin = Executable
		}
	}
	return origin
}
