package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/kube"
)

// class makes the GatewayClass, where the installation brings none, and
// waits until it is accepted.
func (in *installation) class(ctx context.Context, update func(string, ...any)) error {
	class := in.impl.GatewayClass
	if !class.PreCreated {
		for _, obj := range classObjects(in) {
			own(obj, in.labels(in.impl.Part()))
			if err := kube.Apply(ctx, in.client, obj); err != nil {
				return err
			}
		}
	}
	update("waiting to be accepted")
	ctx, cancel := context.WithTimeout(ctx, in.deadline())
	defer cancel()
	_, err := kube.WaitGatewayClass(ctx, in.client, class.Name)
	if err == nil {
		return nil
	}
	if words, _ := in.podWords(in.impl.ControlPlane.Namespace, in.impl.ControlPlane.Selector); words != "" {
		err = fmt.Errorf("%w; %s", err, words)
	}
	return err
}

// classObjects are the class's parameters, where it has some, and the class.
func classObjects(in *installation) []*unstructured.Unstructured {
	class := in.impl.GatewayClass
	spec := map[string]any{"controllerName": class.ControllerName}
	var objects []*unstructured.Unstructured
	if class.Parameters != nil {
		parameters := (&unstructured.Unstructured{Object: class.Parameters}).DeepCopy()
		objects = append(objects, parameters)
		ref := map[string]any{
			"group": parameters.GroupVersionKind().Group,
			"kind":  parameters.GetKind(),
			"name":  parameters.GetName(),
		}
		if namespace := parameters.GetNamespace(); namespace != "" {
			ref["namespace"] = namespace
		}
		spec["parametersRef"] = ref
	}
	return append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1",
		"kind":       "GatewayClass",
		"metadata":   map[string]any{"name": class.Name},
		"spec":       spec,
	}})
}
