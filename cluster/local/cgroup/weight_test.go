package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWeigh(t *testing.T) {
	v1, v2, other := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{v1, v2, other} {
		if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hierarchies := []Hierarchy{{Path: v1, Controllers: []string{"cpu"}}, {Path: v2, Unified: true, Controllers: []string{"memory", "cpu"}}, {Path: other, Controllers: []string{"memory"}}}
	if err := Weigh(hierarchies, "/a", 2048); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{filepath.Join(v1, "a/cpu.shares"): "2048", filepath.Join(v2, "a/cpu.weight"): "79"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %s", file, got, err, want)
		}
	}
	if files, err := os.ReadDir(filepath.Join(other, "a")); err != nil || len(files) != 0 {
		t.Errorf("a hierarchy without CPU was written to: %v, %v", files, err)
	}
	if err := Weigh(hierarchies, "/none", 2); err == nil {
		t.Error("a cgroup that is not there was weighed")
	}
}
