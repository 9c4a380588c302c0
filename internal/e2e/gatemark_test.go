package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatemark/gatemark/result"
)

// bench is one local cluster and the executable under test.
type bench struct {
	t    *testing.T
	name string
	exe  string
}

// newBench builds gatemark and chooses a cluster of its own, which it removes
// at the end.
func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Getenv("GATEMARK_E2E") != "1" {
		t.Skip("needs root and a cluster: set GATEMARK_E2E=1")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, name: fmt.Sprintf("e2e-%d", os.Getpid()), exe: filepath.Join(t.TempDir(), "gatemark")}
	build := exec.Command("go", "build", "-o", b.exe, "./cmd/gatemark")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if os.Getenv("GATEMARK_NODE_DIR") == "" {
		t.Setenv("GATEMARK_NODE_DIR", filepath.Join(root, "bin", "node"))
	}
	t.Cleanup(func() {
		if code, out := b.do("down", "--name", b.name); code != 0 {
			t.Errorf("down: exit code %d\n%s", code, out)
		}
	})
	return b
}

// command is gatemark with arguments, not yet started.
func (b *bench) command(ctx context.Context, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.exe, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = filepath.Dir(b.exe)
	return cmd
}

// do runs gatemark to its end.
func (b *bench) do(args ...string) (code int, out string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	var buffer bytes.Buffer
	return exitCode(b.t, b.command(ctx, &buffer, args...).Run()), buffer.String()
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// kubectl runs the bundled kubectl and returns what it printed.
func (b *bench) kubectl(args ...string) string {
	b.t.Helper()
	code, out := b.do(append([]string{"kubectl", "--name", b.name}, args...)...)
	if code != 0 {
		b.t.Fatalf("kubectl %q: exit code %d\n%s", args, code, out)
	}
	return strings.TrimSpace(out)
}

// small is a run that is over soon.
func (b *bench) small(dir string) []string {
	return []string{"run", "--name", b.name, "--output-dir", dir, "--repeats", "1",
		"--set", "route-propagation.routes=8", "--set", "route-change.kinds=none,service", "--set", "route-change.iterations=1",
		"--set", "attached-routes.routes=20", "--set", "attached-routes.hold=1s"}
}

// brief is a run of one scenario, for tests of what happens around it. Truth is
// installed and removed in a fraction of a real gateway's time.
func (b *bench) brief(dir string) []string {
	return []string{"run", "--name", b.name, "--output-dir", dir, "--implementation", "truth", "--scenario", "attached-routes", "--repeats", "1",
		"--set", "attached-routes.routes=20", "--set", "attached-routes.hold=4s"}
}

// background starts gatemark and returns when its output holds text.
func (b *bench) background(text string, args ...string) (*exec.Cmd, *lockedBuffer) {
	b.t.Helper()
	out := new(lockedBuffer)
	cmd := exec.Command(b.exe, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = filepath.Dir(b.exe)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(out.String(), text); {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			b.t.Fatalf("%q was not printed:\n%s", text, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return cmd, out
}

// runnerBusy waits until the runner of the only run has a trial in hand.
func (b *bench) runnerBusy() {
	b.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if code, out := b.do("kubectl", "--name", b.name, "get", "httproutes", "-A", "-o", "name"); code == 0 && strings.Contains(out, "httproute") {
			return
		}
	}
	b.t.Fatal("no trial made a route")
}

func document(t *testing.T, dir string) result.Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d result.Document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func interrupt(t *testing.T, cmd *exec.Cmd, signal syscall.Signal) int {
	t.Helper()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return exitCode(t, cmd.Wait())
}
