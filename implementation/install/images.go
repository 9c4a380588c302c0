package install

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
)

// resolveImages finds or builds every image, and sets the chart's values to
// those that are not what the chart names by itself.
func (in *installation) resolveImages(ctx context.Context, c *chart.Chart) error {
	for _, want := range in.impl.Images {
		if want.Official == "" && !fromCheckout(want.Source) {
			want.Official = published(c.Values, want.Values)
		}
		img, err := in.resolveImage(ctx, want)
		if err != nil {
			return err
		}
		in.use(want, img)
		if img.Tar == "" {
			continue // the cluster pulls what the chart names
		}
		if err := setImage(in.installed.Values, want.Values, img.Ref); err != nil {
			return fmt.Errorf("image %s: %w", want.Role, err)
		}
	}
	return nil
}

// use notes an image, and what else differs if it was built here.
func (in *installation) use(want implementation.Image, img image.Image) {
	in.installed.Images = append(in.installed.Images, Image{Role: want.Role, Containers: want.Containers, Image: img})
	if want.WhenBuilt != nil && (img.Origin == image.Source || img.Origin == image.Checkout) {
		in.installed.built(*want.WhenBuilt)
	}
}

// built lays what else differs over what was said and set.
func (i *Installed) built(w implementation.WhenBuilt) {
	i.Title = cmp.Or(w.Title, i.Title)
	i.Values = w.Over(i.Values)
	i.Quirks = append(i.Quirks, w.Quirks...)
	i.Deviations = append(i.Deviations, w.Deviations...)
}

// fromCheckout reports whether a recipe builds from a directory of this
// machine: no image registry has that.
func fromCheckout(r *image.Recipe) bool {
	return r != nil && slices.ContainsFunc(r.Files, func(f image.File) bool { return f.Go != nil && f.Go.Checkout != "" })
}

// published is the image that the chart names by itself, in the first of the
// values that take an image's whole name; or "".
func published(values map[string]any, paths []implementation.ImageValue) string {
	for _, p := range paths {
		if p.Part != "" && p.Part != "ref" {
			continue
		}
		keys := strings.Split(p.Path, ".")
		at := values
		for _, key := range keys[:len(keys)-1] {
			at, _ = at[key].(map[string]any)
		}
		if name, _ := at[keys[len(keys)-1]].(string); name != "" {
			return name
		}
	}
	return ""
}

func (in *installation) resolveImage(ctx context.Context, want implementation.Image) (image.Image, error) {
	if in.LoadImage != nil {
		return in.Images.Resolve(ctx, want.Official, want.Source)
	}
	if want.Official == "" {
		return image.Image{}, fmt.Errorf("image %s: there is no official one, and this cluster cannot be given our own", want.Role)
	}
	img, err := in.Images.Lookup(ctx, want.Official)
	if err == nil {
		return img, nil
	}
	if ctx.Err() != nil {
		return image.Image{}, err
	}
	// The cluster may reach an image registry that we do not: what it
	// pulled is seen on its pods.
	return image.Image{Ref: want.Official, Origin: image.Official, From: want.Official}, nil
}

func (in *installation) loadImages(ctx context.Context, update func(string, ...any)) error {
	for _, img := range in.installed.Images {
		if img.Tar == "" {
			continue
		}
		update("%s (%s)", img.Ref, img.Origin)
		if err := in.LoadImage(ctx, img.Image); err != nil {
			return fmt.Errorf("loading image %s: %w", img.Ref, err)
		}
	}
	return nil
}

// setImage sets the values that name an image.
func setImage(values map[string]any, paths []implementation.ImageValue, ref string) error {
	repository, tag := ref, ""
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		repository, tag = ref[:colon], ref[colon+1:]
	}
	for _, p := range paths {
		value := map[string]string{"": ref, "ref": ref, "repository": repository, "tag": tag}[p.Part]
		if err := set(values, p.Path, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets the value at a path of keys with dots between them.
func set(values map[string]any, path, value string) error {
	keys := strings.Split(path, ".")
	at := values
	for n, key := range keys[:len(keys)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			if at[key] != nil {
				return fmt.Errorf("value %s is not a map", strings.Join(keys[:n+1], "."))
			}
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[keys[len(keys)-1]] = value
	return nil
}
