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

// loadChart reads the chart from its Go module, finished as the vendor's
// release process finishes it.
func (in *installation) loadChart(ctx context.Context) (*chart.Chart, error) {
	var loaded *chart.Chart
	if in.impl.Chart.Module == "" {
		return in.ownChart()
	}
	err := in.Progress.Do(ctx, "chart of "+in.impl.Name, func(ctx context.Context, update func(string, ...any)) error {
		update("go module %s@%s", in.impl.Chart.Module, in.impl.Chart.Version)
		module, err := image.DownloadModule(ctx, in.impl.Chart.Module, in.impl.Chart.Version)
		if err != nil {
			return err
		}
		in.installed.Chart = Chart{Module: module.Path, ModuleVersion: module.Version, ModuleSum: module.Sum}
		loaded, err = in.readChart(module.Dir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	in.describeChart(loaded)
	return loaded, nil
}

// ownChart reads the chart in the implementation's own folder.
func (in *installation) ownChart() (*chart.Chart, error) {
	scratch, err := os.MkdirTemp("", "gatemark-chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if err := os.CopyFS(scratch, in.impl.Files()); err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	loaded, err := in.readChart(scratch)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	in.describeChart(loaded)
	return loaded, nil
}

func (in *installation) describeChart(c *chart.Chart) {
	in.installed.Chart.Name, in.installed.Chart.Version = c.Name(), c.Metadata.Version
	in.installed.Chart.Manifests = in.impl.Chart.Manifests
}

// readChart reads the chart below a module's directory, or makes one of the
// plain manifests there.
func (in *installation) readChart(dir string) (*chart.Chart, error) {
	c := in.impl.Chart
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
