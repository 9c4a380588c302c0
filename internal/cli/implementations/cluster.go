package implementations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/configdump"
)

// portLimit is how long a port of a pod may take to answer.
const portLimit = 10 * time.Second

// A clusterCheck holds a description against a cluster.
type clusterCheck struct {
	*lines
	client *kube.Client
	impl   *implementation.Implementation
}

// checkCluster reads, and writes nothing. Its error says that the cluster could
// not be asked.
func checkCluster(ctx context.Context, c *kube.Client, i *implementation.Implementation, found *lines) error {
	k := &clusterCheck{lines: found, client: c, impl: i}
	classes, err := k.classes(ctx)
	if err != nil || len(classes) == 0 {
		return err
	}
	if err := k.controlPlane(ctx); err != nil {
		return err
	}
	return k.gateways(ctx, classes)
}

// classes are the GatewayClasses of the implementation's controller.
func (k *clusterCheck) classes(ctx context.Context) ([]string, error) {
	what := "gatewayClass"
	if _, err := kube.FindGatewayAPI(ctx, k.client); err != nil {
		k.bad(what, "%v", err)
		return nil, nil
	}
	var all gatewayv1.GatewayClassList
	if err := k.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list GatewayClasses: %w", err)
	}
	var ours, others []string
	for n := range all.Items {
		class := &all.Items[n]
		if string(class.Spec.ControllerName) != k.impl.GatewayClass.ControllerName {
			others = append(others, fmt.Sprintf("%s (%s)", class.Name, class.Spec.ControllerName))
			continue
		}
		ours = append(ours, class.Name)
		k.class(class)
	}
	if len(ours) == 0 {
		k.bad(what, "none has the controller %s; there are: %q", k.impl.GatewayClass.ControllerName, others)
	}
	return ours, nil
}

func (k *clusterCheck) class(class *gatewayv1.GatewayClass) {
	what := "gatewayClass " + class.Name
	if ok, missing := kube.Current(class.Status.Conditions, class.Generation, string(gatewayv1.GatewayClassConditionStatusAccepted)); !ok {
		k.bad(what, "is not accepted: %s", missing)
	} else {
		k.good(what, "is accepted")
	}
	lists := kube.Features(class)
	switch {
	case len(lists) > 0:
		k.good("features", "%s lists %d: %s", class.Name, len(lists), strings.Join(lists, ", "))
	case len(k.impl.Features) > 0:
		k.good("features", "%s lists none; the description has %d", class.Name, len(k.impl.Features))
	default:
		k.bad("features", "neither %s nor the description lists any: what is not supported would be tried, and count as failed", class.Name)
	}
}

// controlPlane finds the control plane's pods, where the description has them
// or elsewhere, and asks for their metrics.
func (k *clusterCheck) controlPlane(ctx context.Context) error {
	const what = "controlPlane.selector"
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.MatchingLabels(k.impl.ControlPlane.Selector)); err != nil {
		return fmt.Errorf("list the control plane's pods: %w", err)
	}
	namespaces := map[string]int{}
	for _, pod := range pods.Items {
		namespaces[pod.Namespace]++
	}
	selector := labels.Set(k.impl.ControlPlane.Selector)
	switch {
	case len(pods.Items) == 0:
		k.bad(what, "no pod of the cluster has the labels %s", selector)
		return nil
	case namespaces[k.impl.ControlPlane.Namespace] == 0:
		k.bad("controlPlane.namespace", "%s has no pod with the labels %s, but there are some in %v", k.impl.ControlPlane.Namespace, selector, namespaces)
	default:
		k.good(what, "%d pods in %s", namespaces[k.impl.ControlPlane.Namespace], k.impl.ControlPlane.Namespace)
	}
	if m := k.impl.ControlPlane.Metrics; m != nil {
		k.answers(ctx, "controlPlane.metrics", &pods.Items[0], m.Port, m.Path)
	}
	return nil
}

// gateways looks at the data planes of those that there are.
func (k *clusterCheck) gateways(ctx context.Context, classes []string) error {
	var all gatewayv1.GatewayList
	if err := k.client.List(ctx, &all); err != nil {
		return fmt.Errorf("list Gateways: %w", err)
	}
	seen := 0
	for n := range all.Items {
		gw := &all.Items[n]
		if !slices.Contains(classes, string(gw.Spec.GatewayClassName)) {
			continue
		}
		if seen++; seen <= mostGateways {
			if err := k.dataPlane(ctx, gw); err != nil {
				return err
			}
		}
	}
	if seen == 0 {
		k.bad("dataPlane", "there is no Gateway of class %s, so it could not be looked at: make one, and check again", strings.Join(classes, ", "))
	}
	return nil
}

// mostGateways is enough to tell whether a description fits.
const mostGateways = 3

func (k *clusterCheck) dataPlane(ctx context.Context, gw *gatewayv1.Gateway) error {
	what := fmt.Sprintf("dataPlane of gateway %s/%s", gw.Namespace, gw.Name)
	namespace, selector, err := k.impl.DataPlaneOf(gw.Namespace, gw.Name)
	if err != nil {
		k.bad(what, "%v", err)
		return nil
	}
	if len(kube.Addresses(gw)) == 0 {
		k.bad(what, "its status has no address: give one to gatemark run with --address")
	}
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(selector)); err != nil {
		return fmt.Errorf("list the data plane's pods: %w", err)
	}
	if len(pods.Items) == 0 {
		k.bad(what, "no pod in namespace %s has the labels %s", namespace, labels.Set(selector))
		return nil
	}
	k.good(what, "%d pods in %s", len(pods.Items), namespace)
	pod := &pods.Items[0]
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, k.impl.DataPlane.Container) {
		k.bad("dataPlane.container", "pod %s has no container %q, but %q", pod.Name, k.impl.DataPlane.Container, names)
	}
	k.replicas(ctx, gw, namespace, selector)
	if m := k.impl.DataPlane.Metrics; m != nil {
		k.answers(ctx, "dataPlane.metrics", pod, m.Port, m.Path)
	}
	k.admin(ctx, pod)
	return nil
}

// replicas asks for what a trial would probe.
func (k *clusterCheck) replicas(ctx context.Context, gw *gatewayv1.Gateway, namespace string, selector map[string]string) {
	for _, l := range gw.Spec.Listeners {
		replicas, err := kube.Replicas(ctx, k.client, namespace, labels.Set(selector).String(), int32(l.Port))
		if err != nil {
			k.bad("dataPlane.selector", "listener %s: %v", l.Name, err)
			continue
		}
		k.good("dataPlane.selector", "listener %s, port %d: %d replicas behind a Service", l.Name, l.Port, len(replicas))
	}
}

func (k *clusterCheck) admin(ctx context.Context, pod *corev1.Pod) {
	admin := k.impl.DataPlane.Admin
	if admin == nil {
		return
	}
	format, ok := configdump.Formats[admin.Format]
	if !ok {
		k.bad("dataPlane.admin.format", "%q is unknown", admin.Format)
		return
	}
	k.answers(ctx, "dataPlane.admin", pod, admin.Port, format.Path)
}

// answers asks a port of a pod through the API server's port forwarding.
func (k *clusterCheck) answers(ctx context.Context, what string, pod *corev1.Pod, port int, path string) {
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	source, err := configdump.Open(ctx, k.client.Config, pod.Namespace, pod.Name, port)
	if err != nil {
		k.bad(what, "pod %s, port %d: %v", pod.Name, port, err)
		return
	}
	defer source.Close()
	data, err := source.Get(ctx, path)
	if err != nil {
		k.bad(what, "pod %s, port %d, path %s: %v", pod.Name, port, path, err)
		return
	}
	k.good(what, "pod %s answers on port %d at %s with %d bytes", pod.Name, port, path, len(data))
}
