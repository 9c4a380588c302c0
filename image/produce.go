package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

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
		return out, buildGo(ctx, *f.Go, p.recipe.Folder, out, update)
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
