package session

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gatemark/gatemark/result"
)

// TestSamplersOrKubelets: where pods may not look at their nodes, the runner is
// told to ask the kubelets, and no sampler is made.
func TestSamplersOrKubelets(t *testing.T) {
	for name, refused := range map[string]error{
		"allowed":   nil,
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "sampler-trial", nil),
	} {
		t.Run(name, func(t *testing.T) {
			site := startSite(t, happy)
			tried, made := 0, 0
			site.kube.WithWatch = interceptor.NewClient(site.kube.WithWatch, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					var o client.CreateOptions
					o.ApplyOptions(opts)
					if pod, ok := obj.(*corev1.Pod); !ok || len(o.DryRun) == 0 || pod.Namespace != Namespace(runID) {
						t.Errorf("%T %s was made: %v", obj, obj.GetName(), o)
					}
					tried++
					return refused
				},
				Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
					text, err := json.Marshal(obj)
					if err == nil && strings.Contains(string(text), `"kind":"DaemonSet"`) {
						made++
						return nil
					}
					return c.Apply(ctx, obj, opts...)
				},
			})
			s := site.session(result.Directory(t.TempDir()))
			s.Config.Plan.Observe.Usage = "1s"
			if err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := refused == nil; tried != 1 || (made == 1) != want || site.config.Kubelets == want {
				t.Errorf("%d samplers were tried, %d made; the runner asks kubelets: %v", tried, made, site.config.Kubelets)
			}
			if said := strings.Contains(site.said.String(), "there can be no samplers here"); said != (refused != nil) {
				t.Errorf("said: %s", &site.said)
			}
		})
	}
}
