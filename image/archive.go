package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeArchive writes img as an OCI image layout in a tar, with Docker's
// manifest.json beside it: containerd reads the first and keeps the
// manifest's digest, Docker reads the second.
func writeArchive(w io.Writer, ref string, img v1.Image) error {
	a := &archive{tar: tar.NewWriter(w), seen: map[string]bool{}}
	manifest, err := img.RawManifest()
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	index, err := indexOf(ref, img, digest, int64(len(manifest)))
	if err != nil {
		return err
	}
	a.add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	a.add("index.json", index)
	a.blob(digest, manifest)
	config, err := img.RawConfigFile()
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	configName, err := img.ConfigName()
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	a.blob(configName, config)
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	var paths []string
	for _, l := range layers {
		p, err := a.layer(l)
		if err != nil {
			return err
		}
		paths = append(paths, p)
	}
	docker, err := json.Marshal([]map[string]any{{"Config": blobPath(configName), "RepoTags": []string{ref}, "Layers": paths}})
	if err != nil {
		return err
	}
	a.add("manifest.json", docker)
	if a.err != nil {
		return a.err
	}
	return a.tar.Close()
}

func indexOf(ref string, img v1.Image, digest v1.Hash, size int64) ([]byte, error) {
	mediaType, err := img.MediaType()
	if err != nil {
		return nil, fmt.Errorf("media type: %w", err)
	}
	return json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: mediaType,
			Digest:    digest,
			Size:      size,
			Annotations: map[string]string{
				"io.containerd.image.name":          ref,
				"org.opencontainers.image.ref.name": ref,
			},
		}},
	})
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// archive writes files into a tar until the first error.
type archive struct {
	tar  *tar.Writer
	seen map[string]bool
	err  error
}

func (a *archive) add(name string, data []byte) {
	a.stream(name, int64(len(data)), bytes.NewReader(data))
}

func (a *archive) blob(h v1.Hash, data []byte) { a.add(blobPath(h), data) }

func (a *archive) layer(l v1.Layer) (string, error) {
	digest, err := l.Digest()
	if err != nil {
		return "", fmt.Errorf("layer: %w", err)
	}
	size, err := l.Size()
	if err != nil {
		return "", fmt.Errorf("layer %s: %w", digest, err)
	}
	r, err := l.Compressed()
	if err != nil {
		return "", fmt.Errorf("layer %s: %w", digest, err)
	}
	defer r.Close()
	a.stream(blobPath(digest), size, r)
	return blobPath(digest), a.err
}

func (a *archive) stream(name string, size int64, r io.Reader) {
	if a.err != nil || a.seen[name] {
		return // two layers of an image may be the same blob
	}
	a.seen[name] = true
	h := &tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: epoch, Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(h); err != nil {
		a.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	if _, err := io.Copy(a.tar, r); err != nil {
		a.err = fmt.Errorf("%s: %w", name, err)
	}
}
