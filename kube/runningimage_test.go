package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatemark/gatemark/kube/fakeapi"
)

func TestOtherImages(t *testing.T) {
	server := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true})
	put := func(name string, phase corev1.PodPhase, ids map[string]string) {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		pod.Namespace, pod.Name, pod.Labels, pod.Status.Phase = "n", name, map[string]string{"app": "x"}, phase
		for container, id := range ids {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container, ImageID: id})
		}
		server.Put(t, pod)
	}
	put("pulled", corev1.PodRunning, map[string]string{"proxy": "example.org/proxy@sha256:aaa", "sidecar": "sha256:zzz"})
	put("loaded", corev1.PodRunning, map[string]string{"proxy": "sha256:bbb"})
	put("starting", corev1.PodPending, map[string]string{"proxy": ""})
	c, err := New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	want := []WantedImage{
		{Ref: "proxy:1", Containers: []string{"proxy"}, Digests: []string{"sha256:aaa", "sha256:bbb"}},
		{Ref: "unknown", Containers: []string{"sidecar"}},
	}
	checked, others, err := OtherImages(t.Context(), c, "n", labels.Everything(), want)
	if err != nil || checked != 2 || len(others) != 0 {
		t.Errorf("%d checked, others %q, %v", checked, others, err)
	}
	put("moved", corev1.PodRunning, map[string]string{"proxy": "example.org/proxy@sha256:ccc"})
	checked, others, err = OtherImages(t.Context(), c, "n", labels.Everything(), want)
	if err != nil || checked != 3 || len(others) != 1 || !strings.Contains(others[0], "pod n/moved: container proxy runs example.org/proxy@sha256:ccc, and not proxy:1") {
		t.Errorf("%d checked, others %q, %v", checked, others, err)
	}
}
