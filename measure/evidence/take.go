package evidence

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func (t *taker) dump(ctx context.Context, name string, dump func(context.Context) ([]byte, error)) {
	data, err := dump(ctx)
	if err != nil {
		t.miss(name, err)
		return
	}
	t.put(name, data, false)
}

func (t *taker) object(ctx context.Context, o Object) {
	name := fmt.Sprintf("%s %s", strings.ToLower(o.GVK.Kind), o.Key)
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(o.GVK)
	err := t.client.Get(ctx, o.Key, obj)
	if err != nil {
		t.miss(name, err)
		return
	}
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		t.miss(name, err)
		return
	}
	t.put(fileName("object", strings.ToLower(o.GVK.Kind), o.Key.Namespace, o.Key.Name)+".yaml", text, false)
}

// newest takes the objects of a kind that were made last, latest first.
func (t *taker) newest(ctx context.Context, n Newest) {
	kind := strings.ToLower(n.GVK.Kind)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(n.GVK.GroupVersion().WithKind(n.GVK.Kind + "List"))
	if err := t.client.List(ctx, list, client.InNamespace(n.Namespace)); err != nil {
		t.miss(kind+" objects in "+n.Namespace, err)
		return
	}
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), strings.Compare(b.GetName(), a.GetName()))
	})
	var text bytes.Buffer
	for i := range min(newest, len(list.Items)) {
		document, err := yaml.Marshal(list.Items[i].Object)
		if err != nil {
			t.miss(kind+" "+list.Items[i].GetName(), err)
			return
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	if text.Len() > 0 {
		t.put(fileName("newest", kind, n.Namespace)+".yaml", text.Bytes(), false)
	}
}

func (t *taker) logs(ctx context.Context, p Pods) {
	pods, err := t.client.Clientset.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: p.Selector})
	if err != nil {
		t.miss(fmt.Sprintf("pods %s in %s", p.Selector, p.Namespace), err)
		return
	}
	if len(pods.Items) == 0 {
		t.miss(fmt.Sprintf("pods %s in %s", p.Selector, p.Namespace), fmt.Errorf("there are none"))
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Spec.Containers {
			t.log(ctx, pod, container.Name)
		}
	}
}

func (t *taker) log(ctx context.Context, pod corev1.Pod, container string) {
	since := metav1.NewTime(t.request.At.Add(-t.request.Before))
	data, err := t.client.Clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, SinceTime: &since, Timestamps: true, TailLines: ptr.To[int64](5000),
	}).DoRaw(ctx)
	if err != nil {
		t.miss(fmt.Sprintf("log of pod %s/%s container %s", pod.Namespace, pod.Name, container), err)
		return
	}
	t.put(fileName("log", pod.Namespace, pod.Name, container)+".log", data, true)
}

func (t *taker) events(ctx context.Context, namespace string) {
	list, err := t.client.Clientset.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.miss("events in "+namespace, err)
		return
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return cmp.Compare(when(a).UnixNano(), when(b).UnixNano()) })
	var text bytes.Buffer
	for _, e := range list.Items {
		fmt.Fprintf(&text, "%s %s %s %s/%s: %s\n", when(e).UTC().Format(time.RFC3339), e.Type, e.Reason,
			strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Message)
	}
	t.put(fileName("events", namespace)+".txt", text.Bytes(), true)
}

func when(e corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

func fileName(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "-")
}
