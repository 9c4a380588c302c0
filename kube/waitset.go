package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (s objectSet[P]) put(obj runtime.Object) error {
	typed, ok := obj.(P)
	if !ok {
		return fmt.Errorf("unexpected %T in a watch", obj)
	}
	s[client.ObjectKeyFromObject(typed)] = typed
	return nil
}

// sorted lists the objects by name, so that progress texts are stable.
func (s objectSet[P]) sorted() []P {
	objects := make([]P, 0, len(s))
	for _, obj := range s {
		objects = append(objects, obj)
	}
	slices.SortFunc(objects, func(a, b P) int { return strings.Compare(name(a), name(b)) })
	return objects
}

func withVersion(raw *metav1.ListOptions, version string) *metav1.ListOptions {
	if raw == nil {
		raw = &metav1.ListOptions{}
	}
	raw = raw.DeepCopy()
	raw.ResourceVersion = version
	return raw
}
