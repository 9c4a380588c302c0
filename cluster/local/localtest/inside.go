package localtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/vishvananda/netns"
)

// Inside dials from a cluster's network namespace, as a pod or the node would.
// Nothing else can reach the cluster's pods and Services.
func Inside(t testing.TB, cluster *local.Cluster) func(ctx context.Context, network, address string) (net.Conn, error) {
	t.Helper()
	status, err := cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	for _, component := range status.Components {
		if component.Name == "kube-apiserver" {
			pid = component.PID
		}
	}
	if pid == 0 {
		t.Fatal("the cluster's kube-apiserver, whose network namespace is dialed from, does not run")
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		runtime.LockOSThread() // not unlocked on failure: the thread ends with the goroutine
		home, err := netns.Get()
		if err != nil {
			return nil, err
		}
		defer home.Close()
		there, err := netns.GetFromPid(pid)
		if err != nil {
			return nil, fmt.Errorf("network namespace of process %d: %w", pid, err)
		}
		defer there.Close()
		if err := netns.Set(there); err != nil {
			return nil, err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if back := netns.Set(home); back != nil {
			return nil, errors.Join(err, back)
		}
		runtime.UnlockOSThread()
		return conn, err
	}
}
