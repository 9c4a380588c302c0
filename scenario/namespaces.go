package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/kube"
)

// namespaceWriters is how many namespaces are made at once.
const namespaceWriters = 8

// MakeNamespaces makes more namespaces for the trial, which go with its own:
// run and the session know them by their labels.
func (t *Trial) MakeNamespaces(ctx context.Context, n int) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", t.Namespace, i+1)
	}
	err := kube.Parallel(ctx, n, namespaceWriters, nil, func(ctx context.Context, i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}
		kube.Own(ns, t.RunID, t.Result.ID)
		return kube.Create(ctx, t.Kube, ns)
	})
	if err != nil {
		return nil, fmt.Errorf("make namespaces: %w", err)
	}
	return names, nil
}
