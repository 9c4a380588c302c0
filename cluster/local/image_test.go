package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gatemark/gatemark/cluster/local/supervisor"
)

// writePeerImage builds the program that the tests' pods run, and packs it.
func writePeerImage(t *testing.T, tar string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "peer")
	build := exec.Command("go", "build", "-o", program, "./testdata/peer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the tests' program: %v\n%s", err, out)
	}
	if err := supervisor.WriteImage(tar, "gatemark.local/peer:test", program); err != nil {
		t.Fatal(err)
	}
}
