package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
)

// A release is one of Helm's: a chart with its values.
type release struct {
	name string
	*chart.Chart
	values map[string]any
}

// loadCharts reads the implementation's charts: the earlier ones, and its own
// as the last.
func (in *installation) loadCharts(ctx context.Context) ([]*release, error) {
	var all []*release
	for _, e := range in.impl.Before {
		c, from, err := in.loadChart(ctx, e.Chart)
		if err != nil {
			return nil, fmt.Errorf("chart of release %s: %w", e.Release, err)
		}
		in.installed.Before = append(in.installed.Before, from)
		all = append(all, &release{e.Release, c, e.Values()})
	}
	c, from, err := in.loadChart(ctx, in.impl.Chart)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	in.installed.Chart = from
	return append(all, &release{in.impl.Release.Name, c, in.installed.Values}), nil
}

// loadChart reads a chart, finished as the vendor's release process finishes
// it, and says where it is from.
func (in *installation) loadChart(ctx context.Context, from implementation.Chart) (*chart.Chart, Chart, error) {
	var loaded *chart.Chart
	said := Chart{Manifests: from.Manifests}
	var err error
	switch {
	case from.Module != "" && from.Module == in.impl.Checkout.Module:
		said.Module, said.ModuleVersion = from.Module, "checkout "+in.impl.Checkout.Dir
		loaded, err = in.readChart(in.impl.Checkout.Dir, from)
	case from.Module != "":
		err = in.Progress.Do(ctx, "chart of "+in.impl.Name, func(ctx context.Context, update func(string, ...any)) error {
			update("go module %s@%s", from.Module, from.Version)
			module, err := image.DownloadModule(ctx, from.Module, from.Version)
			if err != nil {
				return err
			}
			said.Module, said.ModuleVersion, said.ModuleSum = module.Path, module.Version, module.Sum
			loaded, err = in.readChart(module.Dir, from)
			return err
		})
	case from.Repository != "":
		said.Repository = from.Repository
		err = in.Progress.Do(ctx, "chart of "+in.impl.Name, func(_ context.Context, update func(string, ...any)) error {
			update("%s %s from %s", from.Path, from.Version, from.Repository)
			loaded, err = pullChart(from)
			return err
		})
	default:
		loaded, err = in.ownChart(from)
	}
	if err != nil {
		return nil, said, err
	}
	said.Name, said.Version = loaded.Name(), loaded.Metadata.Version
	return loaded, said, nil
}

// ownChart reads a chart in the implementation's own folder.
func (in *installation) ownChart(from implementation.Chart) (*chart.Chart, error) {
	scratch, err := os.MkdirTemp("", "gatemark-chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if err := os.CopyFS(scratch, in.impl.Files()); err != nil {
		return nil, err
	}
	return in.readChart(scratch, from)
}

// readChart reads the chart below a module's directory, or makes one of the
// plain manifests there.
func (in *installation) readChart(dir string, c implementation.Chart) (*chart.Chart, error) {
	if len(c.Manifests) > 0 {
		return packManifests(os.DirFS(dir), in.impl)
	}
	return readChart(filepath.Join(dir, filepath.FromSlash(c.Path)), c)
}

// readChart reads a chart from a directory. A template of values is filled
// in within a copy, as the directory belongs to Go's module cache.
func readChart(dir string, c implementation.Chart) (*chart.Chart, error) {
	if c.ValuesTemplate != "" {
		scratch, err := os.MkdirTemp("", "gatemark-chart-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(scratch)
		if err := os.CopyFS(scratch, os.DirFS(dir)); err != nil {
			return nil, err
		}
		if err := fillIn(scratch, c); err != nil {
			return nil, err
		}
		dir = scratch
	}
	loaded, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if c.ChartVersion != "" {
		loaded.Metadata.Version = c.ChartVersion
	}
	if c.AppVersion != "" {
		loaded.Metadata.AppVersion = c.AppVersion
	}
	return loaded, nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// fillIn makes values.yaml in dir from the chart's template.
func fillIn(dir string, c implementation.Chart) error {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.ValuesTemplate)))
	if err != nil {
		return err
	}
	var unknown []string
	used := map[string]bool{}
	filled := variable.ReplaceAllFunc(data, func(match []byte) []byte {
		name := string(match[2 : len(match)-1])
		used[name] = true
		value, ok := c.Placeholders[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return []byte(value)
	})
	if len(unknown) > 0 {
		return fmt.Errorf("%s asks for %s, which chart.placeholders does not give", c.ValuesTemplate, strings.Join(unknown, ", "))
	}
	for name := range c.Placeholders {
		if !used[name] {
			return fmt.Errorf("%s does not ask for %s, which chart.placeholders gives", c.ValuesTemplate, name)
		}
	}
	return os.WriteFile(filepath.Join(dir, "values.yaml"), filled, 0o644)
}
