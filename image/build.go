package image

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

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
