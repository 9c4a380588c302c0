package run

import (
	"context"
	"fmt"
	"os"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/internal/build"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/result"
)

// ownImage is the image of the runner and the backends: this executable,
// packed and loaded, or a published image where nodes can only pull.
func (c *conductor) ownImage(ctx context.Context) (result.Image, error) {
	if c.runnerImage != "" {
		return result.Image{Role: "gatemark", Ref: c.runnerImage, Origin: string(image.Official), From: "--image"}, nil
	}
	if c.cluster.LoadImage == nil {
		err := fmt.Errorf("cluster %s cannot be given an image: its nodes pull", c.cluster.Name)
		return result.Image{}, failure.WithCode(failure.Hint(err, "push gatemark's image to a registry that the nodes reach, and name it with --image"), failure.Usage)
	}
	executable, err := os.Executable()
	if err != nil {
		return result.Image{}, err
	}
	built, err := c.images.Build(ctx, image.Recipe{
		Name: "gatemark", Version: build.Current().Version,
		Files: []image.File{{Path: "/usr/local/bin/gatemark", Executable: executable}},
	})
	if err != nil {
		return result.Image{}, err
	}
	err = c.progress.Do(ctx, "load gatemark's image", func(ctx context.Context, _ func(string, ...any)) error {
		return c.cluster.LoadImage(ctx, built)
	})
	return result.Image{Role: "gatemark", Ref: built.Ref, Digest: built.Digest, Origin: string(built.Origin), From: built.From}, err
}
