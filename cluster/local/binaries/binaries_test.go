package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/failure"
)

// fill makes every program's file, empty.
func fill(t *testing.T, dir string) {
	t.Helper()
	for _, target := range targets {
		for _, file := range target.files() {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCheckNamesAllThatIsMissing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	if err := Check(dir); err != nil {
		t.Errorf("with every program there: %v", err)
	}
	for _, file := range []string{"runc", "cni/ptp"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	err := Check(dir)
	if err == nil || !strings.Contains(err.Error(), "runc, cni/ptp") || len(failure.Hints(err)) != 1 {
		t.Errorf("the error is %v, with the hints %q", err, failure.Hints(err))
	}
}

func TestFilesOfTargets(t *testing.T) {
	found := map[string]bool{}
	for _, target := range targets {
		for _, file := range target.files() {
			found[file] = true
		}
	}
	for _, want := range []string{"node", "pause", "containerd", "containerd-shim-runc-v2", "ctr", "runc", "cni/ptp", "cni/host-local", "cni/loopback", "cni/portmap"} {
		if !found[want] {
			t.Errorf("nothing builds %s", want)
		}
	}
}

// source makes a checkout's folder of the node's modules.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module m\n", "go.sum": "a", "main.go": "package main\n", "pause/main.go": "package main\n",
		"runtime/go.mod": "module r\n", "runtime/go.sum": "b",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, target := range targets {
		stamp, err := target.stamp(dir)
		if err != nil {
			t.Fatal(err)
		}
		all[target.name] = stamp
	}
	return all
}

// A change makes exactly those programs stale that are made from it.
func TestStamp(t *testing.T) {
	for file, stale := range map[string][]string{
		"main.go":        {"Kubernetes"},
		"go.sum":         {"Kubernetes"},
		"pause/main.go":  {"pause"},
		"runtime/go.mod": {"containerd", "runc", "CNI plugins"},
	} {
		dir := source(t)
		before := stamps(t, dir)
		if err := os.WriteFile(filepath.Join(dir, file), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		changed := 0
		for name, stamp := range stamps(t, dir) {
			if stamp != before[name] {
				changed++
				if !strings.Contains(strings.Join(stale, ","), name) {
					t.Errorf("a change of %s makes %s stale", file, name)
				}
			}
		}
		if changed != len(stale) {
			t.Errorf("a change of %s makes %d targets stale, not %v", file, changed, stale)
		}
	}
}

func TestStale(t *testing.T) {
	from, dir := source(t), t.TempDir()
	count := func() int {
		t.Helper()
		todo, err := stale(from, dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(todo)
	}
	if n := count(); n != len(targets) {
		t.Errorf("%d targets are stale before any is built", n)
	}
	fill(t, dir)
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for _, target := range targets {
		if err := target.record(from, dir); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 0 {
		t.Errorf("%d targets are stale after all were built", n)
	}
	// Needs no toolchain: there is nothing to do.
	t.Setenv("PATH", "")
	if err := Build(t.Context(), from, dir, nil); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "cni", "ptp")); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d targets are stale with one program gone", n)
	}
	if err := Build(t.Context(), from, dir, nil); err == nil || !strings.Contains(err.Error(), "lacks go, gcc, pkg-config") {
		t.Errorf("without tools: %v", err)
	}
}

func TestEnsureWithoutSources(t *testing.T) {
	if err := Ensure(t.Context(), filepath.Join(t.TempDir(), "node"), nil); err == nil || !strings.Contains(err.Error(), "lacks the node's programs node, pause") {
		t.Errorf("the error is %v", err)
	}
}

func TestSourceOf(t *testing.T) {
	checkout := t.TempDir()
	if got := sourceOf(filepath.Join(checkout, "bin", "node")); got != "" {
		t.Errorf("sources are found in %s, where there are none", got)
	}
	dir := filepath.Join(checkout, "cluster", "node")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := sourceOf(filepath.Join(checkout, "bin", "node")); got != dir {
		t.Errorf("sources are found in %q, not %s", got, dir)
	}
}

func TestVersionFlags(t *testing.T) {
	flags := versionFlags("v1.36.3")
	for _, want := range []string{"component-base/version.gitVersion=v1.36.3", "component-base/version.gitMajor=1 ", "component-base/version.gitMinor=36 ", "client-go/pkg/version.gitVersion=v1.36.3"} {
		if !strings.Contains(flags, want) {
			t.Errorf("the flags lack %s:\n%s", want, flags)
		}
	}
}
