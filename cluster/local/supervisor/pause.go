package supervisor

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// writePauseImage packs the pause program into an image's tarball.
func writePauseImage(program, file string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	var layerTar bytes.Buffer
	w := tar.NewWriter(&layerTar)
	if err := w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(text))}); err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerTar.Bytes())), nil
	})
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	tag, err := name.NewTag(pauseImage)
	if err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		return fmt.Errorf("making the pause image: %w", err)
	}
	return nil
}
