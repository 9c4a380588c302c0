package kube

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/gatemark/gatemark/kube/fakeapi"
)

func decodeWorkload(t *testing.T, text string) Workload {
	t.Helper()
	w := Workload{&unstructured.Unstructured{}}
	if err := w.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWhatAWorkloadSays(t *testing.T) {
	for _, c := range []struct {
		kind, metadata, spec, status string
		replicas                     int64
		stopped, ready               bool
		words                        string
	}{
		{"Deployment", `"generation":2`, `"replicas":3`, `"observedGeneration":2,"availableReplicas":3,"updatedReplicas":3`, 3, false, true, "3 of 3 available"},
		{"Deployment", `"generation":2`, `"replicas":3`, `"observedGeneration":1,"availableReplicas":3,"updatedReplicas":3`, 3, false, false, "3 of 3 available"},
		{"StatefulSet", `"generation":2`, `"replicas":3`, `"observedGeneration":2,"availableReplicas":3,"updatedReplicas":1`, 3, false, false, "1 of 3 available"},
		{"Deployment", `"generation":1`, `"paused":false`, `"observedGeneration":1`, 1, false, false, "0 of 1 available"},
		{"Deployment", `"generation":1`, `"replicas":0`, `"observedGeneration":1`, 0, true, true, "0 of 0 available"},
		{"DaemonSet", `"generation":1`, `"a":1`, `"observedGeneration":1,"desiredNumberScheduled":2,"numberAvailable":2,"updatedNumberScheduled":1`, 0, false, false, "1 of 2 available"},
		{"DaemonSet", `"generation":1`, `"template":{"spec":{"nodeSelector":{"` + idleKey + `":"true"}}}`, `"observedGeneration":1`, 0, true, true, "0 of 0 available"},
	} {
		text := `{"apiVersion":"apps/v1","kind":"` + c.kind + `","metadata":{"namespace":"a","name":"w",` + c.metadata + `},"spec":{` + c.spec + `},"status":{` + c.status + `}}`
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
		w := decodeWorkload(t, text)
		ready, words := w.Ready()
		if w.Replicas() != c.replicas || w.Stopped() != c.stopped || ready != c.ready || words != c.words {
			t.Errorf("%s: replicas %d, stopped %v, ready %v (%s)", text, w.Replicas(), w.Stopped(), ready, words)
		}
	}
}

func TestPodsOfAWorkload(t *testing.T) {
	text := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"a","name":"w"},"spec":{"selector":`
	w := decodeWorkload(t, text+`{"matchLabels":{"app":"x"},"matchExpressions":[{"key":"k","operator":"Exists"}]}}}`)
	if selector, err := w.Pods(); err != nil || selector.String() != "app=x,k" {
		t.Errorf("%s, %v", selector, err)
	}
	// One that selects every pod of its namespace is not to be believed.
	for _, selector := range []string{`{}`, `{"matchExpressions":[{"key":"k","operator":"Nonsense"}]}`} {
		if _, err := decodeWorkload(t, text+selector+`}}`).Pods(); err == nil || !strings.Contains(err.Error(), "selector of deployment a/w") {
			t.Errorf("%s: error %v", selector, err)
		}
	}
}

// TestStopAndResume act on what was read, and on nothing else.
func TestStopAndResume(t *testing.T) {
	server := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "deployments", Namespaced: true})
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w", Labels: map[string]string{"app": "x"}}}
	d.Spec.Replicas = ptr.To[int32](3)
	server.Put(t, d)
	c, err := New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	read := func() Workload {
		found, err := ListWorkloads(t.Context(), c, "Deployment", "a", "app=x")
		if err != nil || len(found) != 1 {
			t.Fatalf("%d workloads, %v", len(found), err)
		}
		return found[0]
	}
	running := read()
	if err := running.Stop(t.Context(), c); err != nil || !read().Stopped() {
		t.Errorf("stop: %v", err)
	}
	if err := running.Stop(t.Context(), c); !errors.Is(err, ErrWorkloadChanged) {
		t.Errorf("stop of what was stopped since: %v", err)
	}
	stopped := read()
	if err := stopped.Resume(t.Context(), c, 2); err != nil || read().Replicas() != 2 {
		t.Errorf("resume: %v, %d replicas", err, read().Replicas())
	}
	if err := stopped.Resume(t.Context(), c, 5); !errors.Is(err, ErrWorkloadChanged) || read().Replicas() != 2 {
		t.Errorf("resume of what was started since: %v, %d replicas", err, read().Replicas())
	}
	server.Delete("deployments", "a", "w")
	d.UID, d.Spec.Replicas = "another", ptr.To[int32](2)
	server.Put(t, d)
	if err := stopped.Stop(t.Context(), c); !errors.Is(err, ErrWorkloadChanged) {
		t.Errorf("stop of a namesake: %v", err)
	}
}
