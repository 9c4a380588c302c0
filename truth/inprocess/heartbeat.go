package inprocess

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
)

// beat is how often the node says that it is alive. Without that, controllers
// take its pods away after a while.
const beat = 10 * time.Second

// join makes the node, and has it say that it is ready.
func (w *workloads) join(ctx context.Context) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	kube.Own(node, "", "")
	if err := client.IgnoreAlreadyExists(w.kube.Create(ctx, node)); err != nil {
		return fmt.Errorf("make node %s: %w", nodeName, err)
	}
	ready := node.DeepCopy()
	ready.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Truth", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	if err := w.kube.Status().Patch(ctx, ready, client.StrategicMergeFrom(node)); err != nil {
		return fmt.Errorf("say that node %s is ready: %w", nodeName, err)
	}
	return w.renew(ctx)
}

// live renews the node's lease until the context ends.
func (w *workloads) live(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(beat):
		}
		w.again(ctx, func() error { return w.renew(ctx) })
	}
}

func (w *workloads) renew(ctx context.Context) error {
	leases := w.kube.Clientset.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, nodeName, metav1.GetOptions{})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	missing := err != nil
	if missing {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Namespace: corev1.NamespaceNodeLease}}
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(nodeName), ptr.To[int32](40)
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if missing {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew the lease of node %s: %w", nodeName, err)
	}
	return nil
}
