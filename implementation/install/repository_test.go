package install

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/gatemark/gatemark/implementation"
)

// publish is a chart repository with two versions of a chart.
func publish(t *testing.T) (address string) {
	t.Helper()
	dir := t.TempDir()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		c := &chart.Chart{
			Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "vendor", Version: version},
			Templates: []*common.File{{Name: "templates/a.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v" + version + "}\n")}},
		}
		_, err := chartutil.Save(c, dir)
		must(t, err)
	}
	index, err := repo.IndexDirectory(dir, "")
	must(t, err)
	must(t, index.WriteFile(filepath.Join(dir, "index.yaml"), 0o644))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAChartFromARepository(t *testing.T) {
	impl := &implementation.Implementation{
		Name: "vendor", Title: "Vendor", Version: "v1.0.0",
		Chart:   implementation.Chart{Repository: publish(t), Path: "vendor", Version: "1.0.0"},
		Release: implementation.Release{Name: "v", Namespace: "v"},
	}
	in := &installation{Installer: &Installer{}, impl: impl, installed: &Installed{}}
	releases, err := in.loadCharts(t.Context())
	must(t, err)
	if len(releases) != 1 || releases[0].Metadata.Version != "1.0.0" {
		t.Errorf("releases %+v", releases)
	}
	want := Chart{Name: "vendor", Version: "1.0.0", Repository: impl.Chart.Repository}
	if got := in.installed.Chart; got.Name != want.Name || got.Version != want.Version || got.Repository != want.Repository {
		t.Errorf("chart %+v, want %+v", got, want)
	}
	if text, err := Render(t.Context(), impl, nil); err != nil || !strings.Contains(text, "name: v1.0.0") {
		t.Errorf("rendered %q, %v", text, err)
	}
	impl.Chart.Version = "9.9.9"
	if _, err := in.loadCharts(t.Context()); err == nil || !strings.Contains(err.Error(), "vendor 9.9.9 from http://") {
		t.Errorf("error %v", err)
	}
}
