package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/gatemark/gatemark/internal/failure"
)

// A Choice is between official images and our own builds.
type Choice string

// The choices.
const (
	Auto           Choice = "auto"     // official where an image registry answers, else source
	PreferOfficial Choice = "official" // official, or fail
	PreferSource   Choice = "source"   // our own build, always
)

// ParseChoice reads a choice from a flag.
func ParseChoice(s string) (Choice, error) {
	switch c := Choice(s); c {
	case "":
		return Auto, nil
	case Auto, PreferOfficial, PreferSource:
		return c, nil
	}
	return "", failure.WithCode(fmt.Errorf("images: %q is not one of auto, official, source", s), failure.Usage)
}

// registryDeadline is how long an image registry may take to answer at all.
// A machine without a way out must not wait for long, once per registry.
const registryDeadline = 4 * time.Second

// registries remembers which image registries did not answer.
type registries struct {
	mu     sync.Mutex
	silent map[string]error
}

// Resolve returns an image that is the official one under ref or built from
// r, as the builder's choice and the network have it. The image is on disk.
func (b *Builder) Resolve(ctx context.Context, ref string, r *Recipe) (Image, error) {
	switch {
	case r == nil && ref == "":
		return Image{}, errors.New("image with neither an official name nor a recipe")
	case r == nil && b.Choice == PreferSource:
		return Image{}, fmt.Errorf("image %s: there is no recipe to build it from source", ref)
	case ref == "" && b.Choice == PreferOfficial:
		return Image{}, fmt.Errorf("image %s: there is no official one", r.Name)
	case ref == "" || b.Choice == PreferSource:
		return b.Build(ctx, *r)
	case r == nil || b.Choice == PreferOfficial:
		return b.Pull(ctx, ref)
	}
	if _, err := b.Lookup(ctx, ref); err != nil {
		if ctx.Err() != nil {
			return Image{}, err
		}
		return b.Build(ctx, *r)
	}
	return b.Pull(ctx, ref)
}

// Lookup asks ref's image registry for the image and returns its name and
// digest, without fetching it. A registry that did not answer is not asked
// again.
func (b *Builder) Lookup(ctx context.Context, ref string) (Image, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	registry := parsed.Context().RegistryStr()
	b.registries.mu.Lock()
	defer b.registries.mu.Unlock()
	if err, ok := b.registries.silent[registry]; ok {
		return Image{}, err
	}
	head, cancel := context.WithTimeoutCause(ctx, registryDeadline, fmt.Errorf("no answer within %s", registryDeadline))
	defer cancel()
	descriptor, err := remote.Head(parsed, remote.WithContext(head), remote.WithPlatform(platform()), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err == nil {
		return Image{Ref: fullName(parsed), Digest: descriptor.Digest.String(), Origin: Official, From: fullName(parsed)}, nil
	}
	if cause := context.Cause(head); cause != nil {
		err = cause
	}
	err = failure.Hint(fmt.Errorf("image %s: image registry: %w", ref, err), "--images source builds images on this machine")
	var answered *transport.Error
	if !errors.As(err, &answered) && ctx.Err() == nil {
		if b.registries.silent == nil {
			b.registries.silent = map[string]error{}
		}
		b.registries.silent[registry] = err
	}
	return Image{}, err
}

// Pull fetches an official image for this machine's architecture.
func (b *Builder) Pull(ctx context.Context, ref string) (Image, error) {
	found, err := b.Lookup(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	dir, err := b.dir()
	if err != nil {
		return Image{}, err
	}
	key := "official-" + strings.TrimPrefix(found.Digest, "sha256:")[:40] + "-" + runtime.GOARCH
	rec, err := cache{dir}.once(ctx, key, func(work string) (record, error) {
		var rec record
		err := b.Progress.Do(ctx, "pulling "+ref, func(ctx context.Context, _ func(string, ...any)) (err error) {
			rec, err = pull(ctx, ref, found, work)
			return err
		})
		return rec, err
	})
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	return rec.Image, nil
}

func pull(ctx context.Context, ref string, found Image, work string) (record, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return record{}, err
	}
	// By digest: the tag may have moved since it was looked up.
	img, err := remote.Image(parsed.Context().Digest(found.Digest), remote.WithContext(ctx), remote.WithPlatform(platform()), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return record{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return record{}, err
	}
	config, err := img.ConfigName()
	if err != nil {
		return record{}, err
	}
	found.From += "@" + found.Digest // of the index, where there is one
	found.Digest, found.ConfigDigest = digest.String(), config.String()
	out, err := os.Create(filepath.Join(work, "image.tar"))
	if err != nil {
		return record{}, err
	}
	defer out.Close()
	if err := writeArchive(out, found.Ref, img); err != nil {
		return record{}, err
	}
	return record{Image: found, Inputs: []string{found.From}}, out.Close()
}

func platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// fullName is the name under which the kubelet asks a container runtime for
// an image: with the registry's host, and without a digest.
func fullName(ref name.Reference) string {
	registry := ref.Context().RegistryStr()
	if registry == name.DefaultRegistry {
		// Container runtimes know the default registry by its short name.
		registry = strings.TrimPrefix(registry, "index.")
	}
	full := registry + "/" + ref.Context().RepositoryStr()
	if tag, ok := ref.(name.Tag); ok {
		return full + ":" + tag.TagStr()
	}
	return full + "@" + ref.Identifier()
}
