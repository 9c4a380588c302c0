package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAllowRealtime asks this machine's kernel, where it divides the time of
// real-time threads between cgroups.
func TestAllowRealtime(t *testing.T) {
	hierarchies, err := Hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	i := -1
	for j, h := range hierarchies {
		if _, err := os.Stat(filepath.Join(h.Path, "cpu.rt_runtime_us")); err == nil {
			i = j
		}
	}
	if i < 0 {
		t.Skip("this kernel does not divide the time of real-time threads")
	}
	if unix.Access(hierarchies[i].Path, unix.W_OK) != nil {
		t.Skip("cgroups cannot be made here")
	}
	name := fmt.Sprintf("gatemark-test-%d", os.Getpid())
	cpu := hierarchies[i : i+1]
	t.Cleanup(func() {
		if err := Remove(t.Context(), cpu, "/"+name); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	for _, container := range []string{"/pods/one/a", "/pods/one/b", "/pods/two/c"} {
		path := "/" + name + container
		if err := Make(cpu, path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // again changes nothing
			if err := AllowRealtime(cpu, path, 0.01); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each has its own, and those above what all below them have.
	for path, want := range map[string]string{"/pods/one/a": "10000", "/pods/one/b": "10000", "/pods/one": "20000", "/pods": "30000", "": "30000"} {
		text, err := os.ReadFile(filepath.Join(cpu[0].Path, name+path, runtimeFile))
		if got := strings.TrimSpace(string(text)); err != nil || got != want {
			t.Errorf("%q has %s, want %s; %v", path, got, want, err)
		}
	}
}
