package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gatemark/gatemark/"

// A rule names the packages below a folder, and which of ours they may import
// directly. Tests of a package may import more. "..." means all below.
type rule struct {
	folder string
	may    []string
	why    string
}

// everywhere lists what every package may import: it knows nothing of
// gatemark's subject.
var everywhere = []string{"internal/failure", "internal/progress", "internal/suggest", "internal/build"}

var rules = []rule{
	{"cmd", []string{"internal/cli/root"}, "main is one line"},
	{"internal/cli", []string{"..."}, "commands put everything together"},
	{"internal/e2e", []string{"..."}, "tests of the whole"},
	{"internal/kubetest", []string{"cluster/...", "kube"}, "tests against an API server"},
	{"internal/docs", nil, "its tests look at everything, and nothing needs it"},
	{"internal", nil, "what everybody may import knows nobody"},
	{"plan", nil, "a plan can be read and checked without a cluster or a scenario: the catalogue is handed in"},
	{"result", nil, "the schema must outlive all code that produces it"},
	{"stat", nil, "samples in, summaries out"},
	{"dialect", nil, "data and templates, which implementations carry and scenarios fill"},
	{"marker", nil, "shared by the load engine, the backend and the truth implementation"},
	{"load/loadbench", []string{"load/...", "marker", "stat"}, "it compares, and is no part of gatemark"},
	{"load", []string{"load/...", "marker"}, "the load engine is a library that knows no Kubernetes"},
	{"echo", []string{"marker"}, "the backend must be cheap and knows no Kubernetes"},
	{"kube", []string{"kube/..."}, "typed helpers that know no scenario"},
	{"image", nil, "images are made without a cluster"},
	{"implementation/install", []string{"image", "implementation", "kube"}, "installing needs a cluster, describing does not"},
	{"implementation", []string{"dialect", "image"}, "data only"},
	{"measure", []string{"kube", "load", "load/attacker", "load/poll", "marker", "measure/...", "result"}, "observers know no scenario"},
	{"scenario/scenariotest", []string{"echo", "kube", "load", "load/attacker", "marker", "result", "scenario", "scenario/attack", "scenario/stream"}, "what tests of scenarios share"},
	{"scenario/question", []string{"scenario/..."}, "the list of all scenarios"},
	{"scenario", []string{"dialect", "echo/events", "kube", "load", "load/attacker", "marker", "measure/...", "implementation", "result", "stat", "scenario", "scenario/attack", "scenario/stream"}, "a scenario knows no plan and no run, so that it can be tested alone"},
	{"run/session", []string{"kube", "measure/usage", "result", "run", "run/park", "run/transfer"}, "the user's side of a run"},
	{"run/park", []string{"kube", "scenario"}, "what is set aside must be brought back without a plan or a run"},
	{"run/transfer", []string{"result"}, "the protocol knows results only"},
	{"run", []string{"dialect", "plan", "implementation", "scenario", "scenario/question", "kube", "measure/...", "result", "run/..."}, "a run collects; what trials mean together is the report's"},
	{"cluster", []string{"cluster/...", "image"}, "a cluster knows nothing of what is measured on it"},
	{"truth/inprocess", []string{"echo", "kube", "marker", "truth/..."}, "backends run in the same process"},
	{"truth/detection", []string{"kube", "load/attacker", "marker", "measure/...", "result", "scenario", "scenario/question", "truth/..."}, "the instrument's test has scenarios measure truth"},
	{"truth", []string{"kube", "marker", "truth/..."}, "it must not share code with what it tests"},
	{"report", []string{"result", "stat", "report/..."}, "old runs must render for ever, with no code of what ran"},
}

// A fence keeps a heavy dependency, direct or not, out of a folder.
type fence struct {
	folder, without, why string
}

var fences = []fence{
	{"report", "k8s.io/", "reports need no cluster"},
	{"result", "k8s.io/", "results need no cluster"},
	{"stat", "k8s.io/", "statistics need no cluster"},
	{"load", "k8s.io/", "the load engine knows no Kubernetes"},
	{"echo", "k8s.io/", "the backend knows no Kubernetes"},
	{"plan", "k8s.io/", "plans are checked without a cluster"},
	{"kube", "helm.sh/", "Helm is for installing"},
	{"scenario", "helm.sh/", "Helm is for installing"},
	{"cluster", "helm.sh/", "Helm is for installing"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, dir string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", dir, err, &stderr)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	packages := list(t, "../..")
	if len(packages) < 20 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for _, p := range packages {
		name, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			t.Errorf("package %s lies outside of every folder", p.ImportPath)
			continue
		}
		r, ok := ruleFor(name)
		if !ok {
			t.Errorf("no rule for package %s: docs/layout.md and this test say who may import whom", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && !allowed(r, ours) {
				t.Errorf("%s imports %s: %s may import %q, because %s", name, ours, r.folder, r.may, r.why)
			}
		}
	}
}

func TestFences(t *testing.T) {
	packages := list(t, "../..")
	for _, f := range fences {
		found := false
		for _, p := range packages {
			name := strings.TrimPrefix(p.ImportPath, module)
			if !below(name, f.folder) {
				continue
			}
			found = true
			for _, dependency := range p.Deps {
				if strings.HasPrefix(dependency, f.without) {
					t.Errorf("%s depends on %s: %s", name, dependency, f.why)
					break
				}
			}
		}
		if !found {
			t.Errorf("fence around %s: there is no such folder", f.folder)
		}
	}
}

// TestNodeModules: what a node runs knows nothing of gatemark, and gatemark is
// not burdened with what a node runs.
func TestNodeModules(t *testing.T) {
	for _, dir := range []string{"../../cluster/node"} {
		for _, p := range list(t, dir) {
			for _, dependency := range p.Deps {
				if strings.HasPrefix(dependency, module) && !strings.HasPrefix(dependency, module+"cluster/node") {
					t.Errorf("%s depends on %s: the node's programs are not gatemark's", p.ImportPath, dependency)
				}
			}
		}
	}
	for _, p := range list(t, "../..") {
		if slices.Contains(p.Deps, "k8s.io/kubernetes/cmd/kubelet/app") {
			t.Errorf("%s depends on the kubelet", p.ImportPath)
		}
	}
}

func ruleFor(name string) (rule, bool) {
	best, found := rule{}, false
	for _, r := range rules {
		if below(name, r.folder) && len(r.folder) > len(best.folder) {
			best, found = r, true
		}
	}
	return best, found
}

func allowed(r rule, imported string) bool {
	if slices.Contains(everywhere, imported) || slices.Contains(r.may, "...") || below(imported, r.folder) && r.folder != "internal" {
		return true
	}
	for _, may := range r.may {
		folder, all := strings.CutSuffix(may, "/...")
		if imported == may || all && below(imported, folder) {
			return true
		}
	}
	return false
}

func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, filepath.ToSlash(folder)+"/")
}
