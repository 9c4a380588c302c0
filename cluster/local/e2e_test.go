package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/localtest"
	"github.com/gatemark/gatemark/internal/cli/root"
)

// TestMain makes the test binary gatemark itself when it is asked to be.
func TestMain(m *testing.M) {
	if os.Getenv("GATEMARK_TEST_AS_CLI") == "1" || len(os.Args) > 1 && os.Args[1] == local.SupervisorCommand {
		os.Exit(root.Main())
	}
	os.Exit(m.Run())
}

// A bench is a state directory with a command line that works on it.
type bench struct {
	stateDir string
	nodeDir  string
}

func newBench(t *testing.T) bench {
	t.Helper()
	if !localtest.E2E() {
		t.Skip("makes whole clusters: set GATEMARK_E2E=1")
	}
	// Not t.TempDir, whose paths are too long for sockets.
	dir, err := os.MkdirTemp("", "gm-")
	if err != nil {
		t.Fatal(err)
	}
	b := bench{stateDir: dir, nodeDir: localtest.NodeDir(t)}
	t.Cleanup(func() {
		b.run(t, "down", "--all")
		os.RemoveAll(dir)
	})
	return b
}

func (b bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GATEMARK_TEST_AS_CLI=1", "GATEMARK_STATE_DIR="+b.stateDir, "GATEMARK_NODE_DIR="+b.nodeDir)
	return cmd
}

// run runs gatemark and returns what it prints.
func (b bench) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.try(args...)
	if err != nil {
		t.Fatalf("gatemark %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (b bench) try(args ...string) (string, error) {
	cmd := b.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

// eventually repeats a command until its output has the text.
func (b bench) eventually(t *testing.T, want string, args ...string) {
	t.Helper()
	var out string
	var err error
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if out, err = b.try(args...); err == nil && strings.Contains(out, want) {
			return
		}
	}
	t.Fatalf("gatemark %s never printed %q; last: %v\n%s", strings.Join(args, " "), want, err, out)
}

// newName returns a cluster name that no other test, nor user, has.
func newName(t *testing.T) string {
	return fmt.Sprintf("e2e-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6)
}

func TestUpRunsPodsAndDownLeavesNothing(t *testing.T) {
	b := newBench(t)
	name := newName(t)
	before := takeSnapshot(t, b.stateDir, name)
	b.run(t, "up", "--name", name)
	if len(takeSnapshot(t, b.stateDir, name)["processes"]) < 9 {
		t.Error("the snapshot does not see the cluster's processes")
	}
	b.run(t, "up", "--name", name) // is up already
	t.Run("status", func(t *testing.T) { checkStatus(t, b, name) })
	t.Run("pods", func(t *testing.T) { checkPods(t, b, name) })
	t.Run("host", func(t *testing.T) { checkHost(t, b, name) })
	t.Run("metrics", func(t *testing.T) {
		b.eventually(t, name, "kubectl", "--name", name, "top", "node")
		b.eventually(t, "server", "kubectl", "--name", name, "top", "pod")
	})
	b.run(t, "down", "--name", name)
	before.sameAs(t, b.stateDir, name)
	b.run(t, "down", "--name", name) // is down already
}

func checkStatus(t *testing.T, b bench, name string) {
	var list []local.Status
	if err := json.Unmarshal([]byte(b.run(t, "status", "--output", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Name != name || list[0].State != local.Ready || list[0].NodeReady == nil || !*list[0].NodeReady {
		t.Fatalf("status is %+v", list)
	}
	c, err := local.Find(b.stateDir, name)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(c.AuditLog()); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the audit log is not readable for all: %v, %v", info, err)
	}
	for _, c := range list[0].Components {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.PID))
		if err != nil || c.Name != "supervisor" && !strings.HasPrefix(string(args), c.Name+"\x00") {
			t.Errorf("component %s is said to be process %d, which is %q (%v)", c.Name, c.PID, args, err)
		}
	}
}

func checkPods(t *testing.T, b bench, name string) {
	tar := filepath.Join(t.TempDir(), "peer.tar")
	writePeerImage(t, tar)
	c, err := local.Find(b.stateDir, name)
	if err != nil {
		t.Fatal(err)
	}
	// The cluster was made by another process; its programs are known.
	if err := c.LoadImage(t.Context(), tar); err != nil {
		t.Fatal(err)
	}
	images, err := c.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(images), "gatemark.local/peer:test sha256:") {
		t.Errorf("the loaded image is not among %v", images)
	}
	kubectl := func(args ...string) []string { return append([]string{"kubectl", "--name", name}, args...) }
	b.run(t, kubectl("apply", "-f", "testdata/peer.yaml")...)
	b.run(t, kubectl("wait", "--for=condition=Ready", "pod/server", "pod/client", "--timeout=60s")...)
	b.eventually(t, "serving as server", kubectl("logs", "server")...)
	b.eventually(t, "172.31.", kubectl("get", "service", "server", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")...)
	address := b.run(t, kubectl("get", "service", "server", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")...)
	for what, host := range map[string]string{"its LoadBalancer address": address, "its name": "server.default.svc.cluster.local", "its short name": "server"} {
		t.Run("a pod reaches a Service by "+what, func(t *testing.T) {
			b.eventually(t, "server", kubectl("exec", "client", "--", "/peer", "get", "http://"+host)...)
		})
	}
	t.Run("a pod reaches itself through its Service", func(t *testing.T) {
		b.eventually(t, "server", kubectl("exec", "server", "--", "/peer", "get", "http://"+address)...)
	})
	t.Run("there is no way out", func(t *testing.T) {
		out, err := b.try(kubectl("exec", "client", "--", "/peer", "get", "http://192.0.2.1")...)
		if err == nil || !strings.Contains(out, "no route to host") && !strings.Contains(out, "unreachable") {
			t.Errorf("a request to the outside was not refused at once: %v\n%s", err, out)
		}
		out, err = b.try(kubectl("exec", "client", "--", "/peer", "get", "http://gatemark.example")...)
		if err == nil || !strings.Contains(out, "no such host") {
			t.Errorf("a name from the outside was not refused: %v\n%s", err, out)
		}
	})
}

// checkHost uses what a host's kubectl would: the kubeconfig alone.
func checkHost(t *testing.T, b bench, name string) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(b.run(t, "kubeconfig", "--name", name)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(b.nodeDir, "node"), "kubectl", "--kubeconfig", file, "--cache-dir", t.TempDir(), "get", "nodes", "-o", "name")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "node/"+name {
		t.Errorf("kubectl get nodes: %v\n%s", err, out)
	}
}

func TestTwoClustersSideBySide(t *testing.T) {
	b := newBench(t)
	first, second := newName(t)+"-a", newName(t)+"-b"
	before := takeSnapshot(t, b.stateDir, first)
	b.run(t, "up", "--name", first)
	b.run(t, "up", "--name", second)
	for _, name := range []string{first, second} {
		if out := b.run(t, "kubectl", "--name", name, "get", "nodes", "-o", "name"); strings.TrimSpace(out) != "node/"+name {
			t.Errorf("cluster %s has the nodes %q", name, out)
		}
	}
	b.run(t, "down", "--name", second)
	if out := b.run(t, "kubectl", "--name", first, "get", "--raw", "/readyz"); out != "ok" {
		t.Errorf("with the second cluster down, the first says %q", out)
	}
	b.run(t, "down", "--all")
	before.sameAs(t, b.stateDir, first)
	before.sameAs(t, b.stateDir, second)
}

// However early or late the command is killed, the cluster that it was making
// ends by itself, and down removes what is left.
func TestKilledUp(t *testing.T) {
	b := newBench(t)
	for _, delay := range []time.Duration{5, 30, 100, 400, 1200, 2500, 4000} {
		delay *= time.Millisecond
		t.Run(delay.String(), func(t *testing.T) {
			name := newName(t)
			before := takeSnapshot(t, b.stateDir, name)
			cmd := b.command("up", "--name", name)
			cmd.Stderr = io.Discard
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(delay)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Log("up was done before it was killed")
			} else {
				waitForNoProcess(t, b.stateDir, name)
			}
			b.run(t, "down", "--name", name)
			before.sameAs(t, b.stateDir, name)
		})
	}
}

func waitForNoProcess(t *testing.T, stateDir, name string) {
	t.Helper()
	var left []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = processes(t, stateDir, name); len(left) == 0 {
			return
		}
	}
	t.Errorf("processes outlive the command that was killed:\n%s", strings.Join(left, "\n"))
}

// Also a supervisor that is killed takes everything along.
func TestKilledSupervisor(t *testing.T) {
	b := newBench(t)
	name := newName(t)
	before := takeSnapshot(t, b.stateDir, name)
	b.run(t, "up", "--name", name)
	var list []local.Status
	if err := json.Unmarshal([]byte(b.run(t, "status", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	supervisor, err := os.FindProcess(list[0].Components[0].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Kill(); err != nil {
		t.Fatal(err)
	}
	waitForNoProcess(t, b.stateDir, name)
	// The kernel ends the first process of a PID namespace after all others.
	var out string
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out, "ended"); time.Sleep(50 * time.Millisecond) {
		if out = b.run(t, "status"); time.Now().After(deadline) {
			t.Fatalf("20 s later status says %q", out)
		}
	}
	b.run(t, "up", "--name", name) // clears up first
	b.run(t, "down", "--name", name)
	before.sameAs(t, b.stateDir, name)
}

// A component that ends while the cluster comes up is named, with its log,
// and nothing is left.
func TestFailedUp(t *testing.T) {
	b := newBench(t)
	name := newName(t)
	before := takeSnapshot(t, b.stateDir, name)
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(b.nodeDir)); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho it is broken\nexit 7\n"
	if err := os.Remove(filepath.Join(broken, "containerd")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "containerd"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b.nodeDir = broken
	out, err := b.try("up", "--name", name)
	if err == nil {
		t.Fatal("up succeeded without containerd")
	}
	for _, want := range []string{": containerd ended: exit status 7\n", "containerd.log", "it is broken"} {
		if !strings.Contains(out, want) {
			t.Errorf("the error does not say %q:\n%s", want, out)
		}
	}
	before.sameAs(t, b.stateDir, name)
}

func TestBoundClusterEndsWithItsProcess(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	name := newName(t)
	c, err := local.Up(ctx, local.Options{Name: name, Mode: local.ControlPlane, StateDir: b.stateDir, NodeDir: b.nodeDir, Bound: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(processes(t, b.stateDir, name)) == 0 {
		t.Error("no process of the cluster is seen")
	}
	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	waitForNoProcess(t, b.stateDir, name)
}
