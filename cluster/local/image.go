package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// An Image is one that pods of the cluster can run without a pull.
type Image struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// LoadImage loads an image from a tar file as docker save or OCI tools write
// it. Its names are those in the tar file.
func (c *Cluster) LoadImage(ctx context.Context, tar string) error {
	if _, err := c.ctr(ctx, "images", "import", tar); err != nil {
		return fmt.Errorf("loading %s into cluster %s: %w", tar, c.record.Name, err)
	}
	return nil
}

// Images returns every image by its name. An image has several names, and
// containerd adds one made of its digest.
func (c *Cluster) Images(ctx context.Context) ([]Image, error) {
	out, err := c.ctr(ctx, "images", "list")
	if err != nil {
		return nil, fmt.Errorf("listing the images of cluster %s: %w", c.record.Name, err)
	}
	return parseImages(out)
}

// parseImages reads ctr's table: REF, TYPE, DIGEST, and more.
func parseImages(table string) ([]Image, error) {
	var images []Image
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		fields := strings.Fields(line)
		if i == 0 || len(fields) == 0 {
			continue
		}
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "sha256:") {
			return nil, fmt.Errorf("reading ctr's list of images: line %q has no digest in its third column", line)
		}
		images = append(images, Image{Name: fields[0], Digest: fields[2]})
	}
	return images, nil
}

func (c *Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	if c.record.Mode != Full {
		return "", errors.New("it has no container runtime: it is in mode " + string(c.record.Mode))
	}
	path, _ := c.Program("ctr")
	args = append([]string{"--address", c.dir.Containerd("containerd.sock"), "--namespace", "k8s.io"}, args...)
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
