package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
)

// An Installer installs implementations into one cluster.
type Installer struct {
	Config *rest.Config
	Images *image.Builder
	// LoadImage gets an image into the cluster. Where it is nil the
	// cluster pulls official images by itself.
	LoadImage func(context.Context, image.Image) error
	Progress  *progress.Printer
	// Run is the run's ID, for labels.
	Run string
	// GatewayAPI is the release of the Gateway API to install: one for all
	// implementations of a run, see Newest. Nil takes what the implementation
	// declares.
	GatewayAPI *implementation.GatewayAPI
	// Deadline is how long the control plane may take to become available,
	// and its GatewayClass to be accepted; 0 means DefaultDeadline.
	Deadline time.Duration
	// Retain keeps what a failed installation left, for a look.
	Retain bool
}

// DefaultDeadline is for each wait of an installation.
const DefaultDeadline = 3 * time.Minute

// cleanupDeadline is how long Uninstall may take where the caller's own
// context is no measure: after a failure.
const cleanupDeadline = 2 * time.Minute

func (i *Installer) deadline() time.Duration {
	if i.Deadline > 0 {
		return i.Deadline
	}
	return DefaultDeadline
}

// labels are those of every object that belongs to part.
func (i *Installer) labels(part string) labels.Set {
	set := kube.OwnedBy(i.Run, "")
	set[PartLabel] = part
	return set
}

// Install installs a variant of an implementation (the empty variant is the
// default) and waits until it has accepted its GatewayClass. If it fails it
// removes what it had installed, unless Retain is set; the error says how
// far it got.
func (i *Installer) Install(ctx context.Context, impl *implementation.Implementation, variant string) (*Installed, error) {
	effective, err := impl.WithVariant(variant)
	if err != nil {
		return nil, err
	}
	client, err := kube.New(ctx, i.Config, kube.Agent("install"))
	if err != nil {
		return nil, err
	}
	in := &installation{Installer: i, impl: effective, client: client, installed: describe(effective)}
	err = in.run(ctx)
	if err == nil {
		return in.installed, nil
	}
	err = fmt.Errorf("installing %s %s: %w", impl.Part(), impl.Version, err)
	if i.Retain || !in.touched {
		return nil, err
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupDeadline)
	defer cancel()
	if left := i.Uninstall(cleanup, in.installed); left != nil {
		err = errors.Join(err, fmt.Errorf("and removing what was installed: %w", left))
	}
	return nil, err
}

// describe fills in what the data alone says.
func describe(impl *implementation.Implementation) *Installed {
	quirks := slices.Clone(impl.Quirks)
	if impl.Untested != "" {
		quirks = append(quirks, "gatemark's description of it was untested when it was written: "+impl.Untested)
	}
	return &Installed{
		Implementation: impl.Name,
		Part:           impl.Part(),
		Title:          impl.Title,
		Version:        impl.Version,
		Variant:        impl.Variant,
		Namespace:      impl.Release.Namespace,
		Release:        impl.Release.Name,
		Values:         impl.Values(),
		GatewayClass:   impl.GatewayClass.Name,
		ControllerName: impl.GatewayClass.ControllerName,
		Deviations:     append([]implementation.Deviation{labelled}, impl.Deviations...),
		Quirks:         quirks,
		Leftovers:      impl.Leftovers,
	}
}

var labelled = implementation.Deviation{
	What: "Every object of the chart carries gatemark's labels (on itself; its pods do not).",
	Why:  "What a crash leaves behind must be found.",
}

// An installation is one under way.
type installation struct {
	*Installer
	impl      *implementation.Implementation
	client    *kube.Client
	installed *Installed
	// touched: something may have been written to the cluster.
	touched bool
}

func (in *installation) run(ctx context.Context) error {
	releases, err := in.loadCharts(ctx)
	if err != nil {
		return err
	}
	own := releases[len(releases)-1]
	if err := in.resolveImages(ctx, own.Chart); err != nil {
		return err
	}
	own.values = in.installed.Values
	if err := in.checkFree(ctx, releases); err != nil {
		return err
	}
	in.touched = true
	type step struct {
		name string
		work func(context.Context, func(string, ...any)) error
	}
	steps := []step{
		{"load images", in.loadImages},
		{"Gateway API definitions", in.applyGatewayAPI},
		{"namespace and definitions of " + in.impl.Part(), func(ctx context.Context, update func(string, ...any)) error {
			return in.prepare(ctx, releases, update)
		}},
	}
	for _, r := range releases {
		steps = append(steps, step{"chart " + r.Name() + " " + r.Metadata.Version, func(ctx context.Context, update func(string, ...any)) error {
			return in.installRelease(ctx, r, update)
		}})
	}
	steps = append(steps, step{"control plane of " + in.impl.Part(), in.awaitControlPlane}, step{"images of " + in.impl.Part(), in.checkImages})
	if in.impl.HasGateways() {
		steps = append(steps, step{"GatewayClass " + in.impl.GatewayClass.Name, in.class})
	}
	for _, s := range steps {
		if err := in.Progress.Do(ctx, s.name, s.work); err != nil {
			return err
		}
	}
	return nil
}
