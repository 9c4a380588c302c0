package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, mountinfo string
		want            []Hierarchy
	}{
		{"version 1 with a named and an idle version 2 hierarchy", `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`, []Hierarchy{
			{Path: "/sys/fs/cgroup/cpu,cpuacct", Controllers: []string{"cpu", "cpuacct"}},
			{Path: "/sys/fs/cgroup/systemd"},
			{Path: "/sys/fs/cgroup/unified", Unified: true},
		}},
		{"version 2", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", []Hierarchy{{Path: "/sys/fs/cgroup", Unified: true}}},
		{"none", "23 1 0:21 / /proc rw - proc proc rw\nnonsense\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(strings.NewReader(tt.mountinfo))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	v1 := []Hierarchy{{Controllers: []string{"cpu"}}, {Controllers: []string{"memory"}}}
	if diff := cmp.Diff([]string{"cpuacct", "pids"}, Missing(v1, "cpu", "cpuacct", "memory", "pids")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v2 := []Hierarchy{{Unified: true, Controllers: []string{"cpu", "memory", "pids"}}}
	if missing := Missing(v2, "cpu", "cpuacct", "memory", "pids"); missing != nil {
		t.Errorf("version 2 is said to lack %v", missing)
	}
}

// A directory stands in for version 1: what the kernel does beyond making
// directories is not needed here.
func TestMakeAndRemove(t *testing.T) {
	root := t.TempDir()
	hierarchies := []Hierarchy{{Path: root, Controllers: []string{"memory"}}, {Path: t.TempDir()}}
	for range 2 { // making it twice does no harm
		if err := Make(hierarchies, "/gatemark/some/etcd"); err != nil {
			t.Fatal(err)
		}
	}
	if err := Make(hierarchies, "/gatemark/other"); err != nil {
		t.Fatal(err)
	}
	if !Exists(hierarchies, "/gatemark/some") || Exists(hierarchies, "/gatemark/third") {
		t.Error("Exists does not tell what there is")
	}
	for range 2 {
		if err := Remove(t.Context(), hierarchies, "/gatemark/some"); err != nil {
			t.Fatal(err)
		}
	}
	RemoveEmpty(hierarchies, "/gatemark")
	if Exists(hierarchies, "/gatemark/some") || !Exists(hierarchies, "/gatemark/other") {
		t.Error("not exactly one cluster's cgroups were removed")
	}
}

func TestRemoveSaysWhatIsBusy(t *testing.T) {
	root := t.TempDir()
	hierarchies := []Hierarchy{{Path: root}}
	if err := Make(hierarchies, "/gatemark/some"); err != nil {
		t.Fatal(err)
	}
	// A file keeps a directory as a process keeps a cgroup.
	if err := os.WriteFile(filepath.Join(root, "gatemark", "some", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Remove(ctx, hierarchies, "/gatemark/some")
	if err == nil || !strings.Contains(err.Error(), filepath.Join(root, "gatemark", "some")) {
		t.Errorf("the error is %v", err)
	}
}

func TestInheritCPUSet(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sub")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("0-1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cpuset.mems"), []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := inheritCPUSet(root, dir); err != nil {
		t.Fatal(err)
	}
	cpus, _ := os.ReadFile(filepath.Join(dir, "cpuset.cpus"))
	mems, _ := os.ReadFile(filepath.Join(dir, "cpuset.mems"))
	if string(cpus) != "1\n" || string(mems) != "0-1\n" {
		t.Errorf("cpus %q, mems %q: what is set must stay, what is empty must be filled", cpus, mems)
	}
}
