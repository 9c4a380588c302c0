package kube

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Describe names an object for a reader: "httproute a/b".
func Describe(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" { // typed objects do not carry it
		kind = fmt.Sprintf("%T", obj)
		kind = kind[strings.LastIndex(kind, ".")+1:]
	}
	return strings.ToLower(kind) + " " + name(obj)
}

func name(obj client.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
