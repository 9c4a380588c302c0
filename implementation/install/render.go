package install

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/gatemark/gatemark/implementation"
)

// Render returns the objects of an implementation's charts as YAML, as they
// would be installed, its own with the given values, without a cluster.
func Render(ctx context.Context, impl *implementation.Implementation, values map[string]any) (string, error) {
	in := &installation{Installer: &Installer{}, impl: impl, installed: describe(impl)}
	releases, err := in.loadCharts(ctx)
	if err != nil {
		return "", err
	}
	own := len(releases) - 1
	releases[own].values = values
	var out strings.Builder
	for _, r := range releases {
		text, err := render(ctx, r.Chart, implementation.Release{Name: r.name, Namespace: impl.Release.Namespace}, r.values)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func render(ctx context.Context, c *chart.Chart, release implementation.Release, values map[string]any) (string, error) {
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.ReleaseName, install.Namespace = release.Name, release.Namespace
	install.DryRunStrategy = action.DryRunClient
	install.SkipCRDs = true
	rendered, err := install.RunWithContext(ctx, c, values)
	if err != nil {
		return "", fmt.Errorf("rendering chart %s: %w", c.Name(), err)
	}
	typed, ok := rendered.(*releasev1.Release)
	if !ok {
		return "", fmt.Errorf("rendering chart %s: Helm returned %T", c.Name(), rendered)
	}
	var out strings.Builder
	for _, hook := range typed.Hooks {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	out.WriteString(typed.Manifest)
	return out.String(), nil
}
