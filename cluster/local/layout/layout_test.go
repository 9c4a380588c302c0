package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"gatemark", "a", "a-1", strings.Repeat("x", 40)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "-a", "a-", "A", "a/b", "..", "a.b", strings.Repeat("x", 41)} {
		if err := CheckName(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestDefaultStateDir(t *testing.T) {
	t.Setenv("GATEMARK_STATE_DIR", "/somewhere")
	if dir, err := DefaultStateDir(); dir != "/somewhere" || err != nil {
		t.Errorf("%s, %v", dir, err)
	}
}

// All of a cluster's files are below its directory.
func TestMake(t *testing.T) {
	state := t.TempDir()
	dir := Of(state, "some")
	for range 2 {
		if err := dir.Make(); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{dir.PKI("x"), dir.Config("x"), dir.Log("x"), dir.Audit(), dir.Containerd("x"), dir.Process(), dir.Status(), dir.Kubeconfig()} {
		if !strings.HasPrefix(file, filepath.Join(state, "some")+"/") {
			t.Errorf("%s is outside", file)
		}
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			t.Error(err)
		}
	}
	if dir.Name() != "some" || dir.StateDir() != state {
		t.Errorf("%s in %s", dir.Name(), dir.StateDir())
	}
	info, err := os.Stat(filepath.Dir(dir.PKI("x")))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can read the keys' directory: %v, %v", info.Mode(), err)
	}
}
