// Package localtest gives a test a real API server with a controller manager:
// a local cluster in mode control-plane, which needs no root and is up within
// seconds. Importing it makes a test binary able to be the cluster's
// supervisor.
package localtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/cluster/local/binaries"
	"github.com/gatemark/gatemark/cluster/local/supervisor"
)

// init turns the test binary into the supervisor when it is started as one,
// before any test or TestMain runs.
func init() {
	if len(os.Args) != 2 || os.Args[1] != local.SupervisorCommand {
		return
	}
	if err := supervisor.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start makes a control plane that ends with the test, or with the test's
// process. Without the node's programs the test is skipped, unless
// GATEMARK_E2E=1 asks for everything: then it fails.
func Start(t testing.TB) *local.Cluster {
	t.Helper()
	return start(t, local.ControlPlane)
}

// StartNode makes a full cluster, which takes root and several seconds. The
// test is skipped unless GATEMARK_E2E=1.
func StartNode(t testing.TB) *local.Cluster {
	t.Helper()
	if !E2E() {
		t.Skip("needs a cluster that runs pods: set GATEMARK_E2E=1")
	}
	return start(t, local.Full)
}

// E2E tells whether tests that need a whole cluster are asked for.
func E2E() bool { return os.Getenv("GATEMARK_E2E") == "1" }

func start(t testing.TB, mode local.Mode) *local.Cluster {
	t.Helper()
	state, err := os.MkdirTemp("", "gatemark-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// Clusters of one name share cgroups, so that the name must be new.
	name := "test-" + strings.ToLower(strings.TrimPrefix(filepath.Base(state), "gatemark-"))
	c, err := local.Up(ctx, local.Options{Name: name, Mode: mode, StateDir: state, NodeDir: NodeDir(t), Bound: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Down(ctx); err != nil {
			t.Errorf("removing the test's cluster: %v", err)
		}
	})
	return c
}

// NodeDir returns where the node's programs are: $GATEMARK_NODE_DIR, else
// bin/node of the checkout.
func NodeDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GATEMARK_NODE_DIR")
	if dir == "" {
		dir = filepath.Join(checkout(t), "bin", "node")
	}
	if err := binaries.Check(dir); err != nil {
		if E2E() {
			t.Fatalf("%v (make node builds them)", err)
		}
		t.Skipf("%v (make node builds them)", err)
	}
	return dir
}

// checkout returns the folder above the test's with the main module's go.mod.
func checkout(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/gatemark/gatemark\n") {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("the test does not run in a checkout of gatemark: set GATEMARK_NODE_DIR")
		}
		dir = parent
	}
}
