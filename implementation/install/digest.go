package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

// Wanted are the images that were asked for, by the containers that run them.
// One whose digest only the cluster knows is left out.
func (i *Installed) Wanted() []kube.WantedImage {
	var all []kube.WantedImage
	for _, img := range i.Images {
		want := kube.WantedImage{Ref: img.Ref, Containers: img.Containers}
		for _, digest := range []string{img.Digest, img.ConfigDigest} {
			if digest != "" {
				want.Digests = append(want.Digests, digest)
			}
		}
		if len(want.Digests) > 0 {
			all = append(all, want)
		}
	}
	return all
}

// checkImages holds what the control plane's containers run against what was
// asked for. Data planes come with their Gateways, and are held against it in
// each trial.
func (in *installation) checkImages(ctx context.Context, update func(string, ...any)) error {
	plane := in.impl.ControlPlane
	checked, others, err := kube.OtherImages(ctx, in.client, plane.Namespace, labels.SelectorFromSet(plane.Selector), in.installed.Wanted())
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return failure.Hint(errors.New(strings.Join(others, "; ")), "a node has another image of this name, or the tag has moved")
	}
	update("%s", fmt.Sprintf("%d containers run what was asked for", checked))
	return nil
}
