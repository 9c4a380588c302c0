package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func node(ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "some"},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: "not yet"}}},
	}
}

func TestUsable(t *testing.T) {
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	for want, n := range map[string]*corev1.Node{
		"not yet":    node(corev1.ConditionFalse),
		"not-ready":  node(corev1.ConditionTrue, taint),
		"it has not": {},
	} {
		if err := usable(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if err := usable(node(corev1.ConditionTrue)); err != nil {
		t.Error(err)
	}
}

func TestWaitForNode(t *testing.T) {
	client := fake.NewClientset()
	c := &cluster{client: client, settings: handshake.Settings{Name: "some"}}
	done := make(chan error, 1)
	go func() { done <- c.waitForNode(t.Context()) }()
	// The fake gives a watch no object that was there before: change it
	// until somebody watches.
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node(corev1.ConditionFalse), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := client.CoreV1().Nodes().Update(t.Context(), node(corev1.ConditionTrue), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestWaitForNodeSaysHowItIs(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	client := fake.NewClientset()
	c := &cluster{client: client, settings: handshake.Settings{Name: "some"}}
	cancel(errors.New("time is up"))
	err := c.waitForNode(ctx)
	for _, want := range []string{"node some", "time is up"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
