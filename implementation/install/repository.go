package install

import (
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/registry"

	"github.com/gatemark/gatemark/implementation"
)

// pullChart gets a chart from where its vendor publishes charts, with the
// user's own settings of Helm, and into a folder of our own.
func pullChart(from implementation.Chart) (*chart.Chart, error) {
	scratch, err := os.MkdirTemp("", "gatemark-chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	settings := cli.New()
	settings.RepositoryCache, settings.ContentCache = scratch, scratch
	client, err := registry.NewClient(registry.ClientOptWriter(io.Discard))
	if err != nil {
		return nil, fmt.Errorf("preparing Helm: %w", err)
	}
	// Whoever installs a chart can pull it, and this is Helm's own way to.
	install := action.NewInstall(action.NewConfiguration())
	install.SetRegistryClient(client)
	install.Version = from.Version
	name := from.Path
	if strings.HasPrefix(from.Repository, "oci://") {
		name = strings.TrimSuffix(from.Repository, "/") + "/" + from.Path
	} else {
		install.RepoURL = from.Repository
	}
	archive, err := install.LocateChart(name, settings)
	if err != nil {
		return nil, fmt.Errorf("%s %s from %s: %w", from.Path, from.Version, from.Repository, err)
	}
	return loader.Load(archive)
}
