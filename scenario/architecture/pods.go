package architecture

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// A podSeen is a pod, as far as the architecture goes.
type podSeen struct {
	namespace, name string
	// workload made it: "deployment a/b".
	workload string
	// account is its service account, namespace/name; "" where it has no token
	// of one.
	account    string
	containers []containerSeen
	// privileges are what it has beyond an ordinary pod, in words.
	privileges []string
}

func (p podSeen) key() string { return p.namespace + "/" + p.name }

type containerSeen struct{ name, image, digest string }

// A dataPlane is what carries the traffic of one Gateway.
type dataPlane struct {
	// found says how it was found.
	found    string
	replicas []kube.Replica
	// pods are those of the replicas that are pods.
	pods []podSeen
	// foreign are objects that were made for the Gateway outside its namespace.
	foreign []string
}

// inventory is what there was before the first Gateway.
func (d *dissection) inventory(ctx context.Context) (map[types.UID]bool, error) {
	all := map[types.UID]bool{}
	var services corev1.ServiceList
	var pods corev1.PodList
	if err := d.Kube.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	if err := d.Kube.List(ctx, &pods); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for _, s := range services.Items {
		all[s.UID] = true
	}
	for _, p := range pods.Items {
		all[p.UID] = true
	}
	return all, nil
}

// findDataPlane looks for what stands behind a Gateway's address: the endpoints
// of the Services that have it. Where there is no such Service, the
// implementation's description says what to look for.
func (d *dissection) findDataPlane(ctx context.Context, g *examined, before map[types.UID]bool) error {
	if g.answered.IsZero() {
		return nil
	}
	services, err := d.servicesOf(ctx, g)
	if err != nil {
		return err
	}
	var endpoints discoveryv1.EndpointSliceList
	if err := d.Kube.List(ctx, &endpoints, client.HasLabels{discoveryv1.LabelServiceName}); err != nil {
		return fmt.Errorf("list endpoints: %w", err)
	}
	if g.replicas, err = kube.ReplicasOf(services, endpoints.Items, scenario.ListenerPort); err != nil {
		return fmt.Errorf("what stands behind gateway %s/%s: %w", g.namespace, scenario.GatewayName, err)
	}
	for _, s := range services {
		if !before[s.UID] && s.Namespace != g.namespace {
			g.foreign = append(g.foreign, "service "+s.Namespace+"/"+s.Name)
		}
	}
	return d.seeReplicas(ctx, g, before)
}

func (d *dissection) servicesOf(ctx context.Context, g *examined) ([]corev1.Service, error) {
	var all corev1.ServiceList
	if err := d.Kube.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	if at := servicesAt(all.Items, g.addresses, scenario.ListenerPort); len(at) > 0 {
		g.found = "the endpoints of " + serviceNames(at) + ", which has the Gateway's address"
		return at, nil
	}
	place, err := d.Target.DataPlane.For(g.namespace, scenario.GatewayName)
	if err != nil {
		return nil, err
	}
	matching, err := labels.Parse(place.Labels)
	if err != nil {
		return nil, err
	}
	selected := slices.DeleteFunc(all.Items, func(s corev1.Service) bool {
		return s.Namespace != place.Namespace || !kube.Selects(&s, matching)
	})
	g.found = "the endpoints of " + serviceNames(selected) + ", by labels: no Service has the Gateway's address"
	return selected, nil
}

// servicesAt are those that have one of the addresses, and the port.
func servicesAt(all []corev1.Service, addresses []string, port int32) []corev1.Service {
	var at []corev1.Service
	for _, s := range all {
		has := append([]string{s.Spec.ClusterIP, s.Name + "." + s.Namespace + ".svc.cluster.local"}, s.Spec.ExternalIPs...)
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			has = append(has, ingress.IP, ingress.Hostname)
		}
		here := slices.ContainsFunc(addresses, func(a string) bool { return a != "" && slices.Contains(has, a) })
		if here && slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }) {
			at = append(at, s)
		}
	}
	return at
}

func serviceNames(services []corev1.Service) string {
	var names []string
	for _, s := range services {
		names = append(names, "service "+s.Namespace+"/"+s.Name)
	}
	return strings.Join(names, " and ")
}

// seeReplicas looks at the pods of a Gateway's replicas.
func (d *dissection) seeReplicas(ctx context.Context, g *examined, before map[types.UID]bool) error {
	for _, r := range g.replicas {
		namespace, name, isPod := strings.Cut(r.Pod, "/")
		if !isPod {
			continue
		}
		var pod corev1.Pod
		if err := d.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
			return fmt.Errorf("pod %s of the data plane: %w", r.Pod, err)
		}
		seen := seePod(&pod)
		g.pods = append(g.pods, seen)
		if !before[pod.UID] && namespace != g.namespace && !slices.Contains(g.foreign, seen.workload) {
			g.foreign = append(g.foreign, seen.workload)
		}
	}
	return nil
}

// seeControlPlane looks at the control plane's pods, and at what both planes
// may do.
func (d *dissection) seeControlPlane(ctx context.Context) error {
	planes, err := d.ControlPlanes()
	if err != nil {
		return err
	}
	for _, plane := range planes {
		if plane.Labels == "" { // nothing is known of it, and all pods are not it
			continue
		}
		matching, err := labels.Parse(plane.Labels)
		if err != nil {
			return err
		}
		var pods corev1.PodList
		if err := d.Kube.List(ctx, &pods, client.InNamespace(plane.Namespace), client.MatchingLabelsSelector{Selector: matching}); err != nil {
			return fmt.Errorf("list the pods of the control plane: %w", err)
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				d.control = append(d.control, seePod(&pods.Items[i]))
			}
		}
	}
	d.rights, err = d.seeRights(ctx)
	return err
}

func seePod(pod *corev1.Pod) podSeen {
	seen := podSeen{namespace: pod.Namespace, name: pod.Name, workload: workloadOf(pod), privileges: privilegesOf(&pod.Spec)}
	if hasToken(&pod.Spec) {
		seen.account = pod.Namespace + "/" + pod.Spec.ServiceAccountName
	}
	digests := map[string]string{}
	for _, status := range pod.Status.ContainerStatuses {
		digests[status.Name] = status.ImageID
	}
	for _, c := range pod.Spec.Containers {
		seen.containers = append(seen.containers, containerSeen{c.Name, c.Image, digestOf(digests[c.Name])})
	}
	return seen
}

// digestOf cuts the repository off an image's ID.
func digestOf(id string) string {
	if _, digest, ok := strings.Cut(id, "@"); ok {
		return digest
	}
	return id
}

// workloadOf names what keeps a pod: a Deployment has a ReplicaSet in between,
// whose name is its own and the template's hash.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "pod " + pod.Namespace + "/" + pod.Name
	}
	kind, name := owner.Kind, owner.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" && strings.HasSuffix(name, "-"+hash) {
		kind, name = "Deployment", strings.TrimSuffix(name, "-"+hash)
	}
	return strings.ToLower(kind) + " " + pod.Namespace + "/" + name
}

// hasToken reports whether a pod can act as its service account. The API
// server adds the token as a volume.
func hasToken(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil })
	})
}

// privilegesOf lists what a pod has that keeps it less apart from its node than
// an ordinary pod.
func privilegesOf(spec *corev1.PodSpec) []string {
	var all []string
	add := func(words string) {
		if !slices.Contains(all, words) {
			all = append(all, words)
		}
	}
	for _, c := range []struct {
		is    bool
		words string
	}{{spec.HostNetwork, "the node's network"}, {spec.HostPID, "the node's processes"}, {spec.HostIPC, "the node's IPC"}} {
		if c.is {
			add(c.words)
		}
	}
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			add("the node's path " + v.HostPath.Path)
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				add(fmt.Sprintf("the node's port %d", port.HostPort))
			}
		}
		s := c.SecurityContext
		if s == nil {
			continue
		}
		if ptr.Deref(s.Privileged, false) {
			add("privileged")
		}
		if s.Capabilities != nil {
			for _, capability := range s.Capabilities.Add {
				add("capability " + string(capability))
			}
		}
	}
	return all
}
