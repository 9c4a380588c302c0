package local_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatemark/gatemark/cluster/local/localtest"
)

// nobody is a user without rights.
const nobody = 65534

// A control plane needs no root: a user namespace is enough.
func TestControlPlaneWithoutRoot(t *testing.T) {
	if !localtest.E2E() {
		t.Skip("makes a cluster as another user: set GATEMARK_E2E=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	credential := &syscall.Credential{Uid: nobody, Gid: nobody}
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if err := probe.Run(); err != nil {
		t.Skipf("cannot become another user here: %v", err)
	}
	if text, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(text)) == "0" {
		t.Skip("this kernel gives users no user namespaces")
	}
	dir, err := os.MkdirTemp("", "gm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	// The test binary lies where only root may go.
	executable := filepath.Join(dir, "gatemark")
	copyFile(t, os.Args[0], executable)
	nodeDir := localtest.NodeDir(t)
	gatemark := func(args ...string) (string, error) {
		cmd := exec.Command(executable, args...)
		cmd.Dir = dir
		cmd.Env = []string{"GATEMARK_TEST_AS_CLI=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GATEMARK_NODE_DIR=" + nodeDir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	name := newName(t)
	if out, err := gatemark("up"); err == nil || !strings.Contains(out, "not root") || !strings.Contains(out, "--mode control-plane") {
		t.Errorf("a full cluster without root: %v\n%s", err, out)
	}
	if out, err := gatemark("up", "--mode", "control-plane", "--name", name); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	if out, err := gatemark("kubectl", "--name", name, "create", "namespace", "mine"); err != nil {
		t.Errorf("kubectl: %v\n%s", err, out)
	}
	if out, err := gatemark("down", "--name", name); err != nil {
		t.Fatalf("down: %v\n%s", err, out)
	}
	state := filepath.Join(dir, ".local", "state", "gatemark")
	waitForNoProcess(t, state, name)
	if _, err := os.Stat(filepath.Join(state, name)); !os.IsNotExist(err) {
		t.Errorf("the cluster's directory is still there (%v)", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
