// Package inprocess runs all of truth in this process, against a cluster that
// runs no pods: the control plane, the replicas of each Gateway, each on a
// loopback address of its own, and in place of a kubelet the echo backends of
// the pods that scenarios create. Addresses stand in EndpointSlices of type
// FQDN: the API server takes no loopback address in one of type IPv4.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/dataplane"
	"github.com/gatemark/gatemark/truth/fault"
	"github.com/gatemark/gatemark/truth/feed"
)

// Class is the GatewayClass.
const Class = "truth"

// Options are how truth is run.
type Options struct {
	// Replicas of each Gateway; default 2.
	Replicas int
	// Faults are asked at their points; nil has none.
	Faults *fault.Switch
	// Workloads has the control plane and the replicas be pods of Deployments,
	// run in this process: they can be restarted, scaled and deleted as such.
	// Their Gateways' addresses are of this process too. Otherwise they are just
	// there.
	Workloads bool
	// Log takes what went wrong and will be tried again; nil discards it.
	Log *slog.Logger
}

// Truth is at work.
type Truth struct {
	placement *placement // nil where there are workloads
	workloads *workloads // nil where there are none
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu  sync.Mutex
	err error
}

// acceptLimit bounds how long its own GatewayClass may take to be accepted.
const acceptLimit = time.Minute

// Start makes the GatewayClass, waits until it is accepted, and goes on until
// Stop is called or the context ends.
func Start(ctx context.Context, c *kube.Client, o Options) (*Truth, error) {
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: Class}, Spec: gatewayv1.GatewayClassSpec{ControllerName: controlplane.Name}}
	kube.Own(class, "", "")
	if err := client.IgnoreAlreadyExists(c.Create(ctx, class)); err != nil { // it stays when truth is stopped
		return nil, fmt.Errorf("create %s: %w", kube.Describe(class), err)
	}
	running, cancel := context.WithCancel(ctx)
	snapshots := new(feed.Feed)
	t := &Truth{cancel: cancel}
	if o.Workloads {
		var err error
		if t.workloads, err = newWorkloads(ctx, c, snapshots, o); err != nil {
			cancel()
			return nil, err
		}
		t.run(func() error { return t.workloads.live(running) })
	} else {
		t.placement = newPlacement(running, c, snapshots, o)
		t.run(func() error {
			return controlplane.Run(running, controlplane.Options{Kube: c, Feed: snapshots, Placement: t.placement, Faults: o.Faults, Log: o.Log})
		})
	}
	t.run(func() error { return newNode(c, t.workloads, o.Log).run(running) })
	waiting, ended := context.WithTimeout(ctx, acceptLimit)
	defer ended()
	if _, err := kube.WaitGatewayClass(waiting, c, Class); err != nil {
		return nil, errors.Join(err, t.Stop())
	}
	return t, nil
}

// run runs a part; its failure ends the others.
func (t *Truth) run(part func() error) {
	t.running.Go(func() {
		if err := part(); err != nil {
			t.mu.Lock()
			t.err = errors.Join(t.err, err)
			t.mu.Unlock()
			t.cancel()
		}
	})
}

// Stop ends everything, and returns what failed.
func (t *Truth) Stop() error {
	t.cancel()
	t.running.Wait()
	var err error
	if t.workloads != nil {
		err = t.workloads.stop()
	} else {
		err = t.placement.stop()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.err, err)
}

// Replicas are those of a Gateway, namespace/name: they tell what is in force,
// and since when.
func (t *Truth) Replicas(gateway string) []*dataplane.Replica {
	if t.workloads == nil {
		return t.placement.of(gateway)
	}
	var all []*dataplane.Replica
	for _, r := range t.workloads.of(gateway) {
		all = append(all, r.Replica)
	}
	return all
}
