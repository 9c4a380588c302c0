package usage

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/history"
)

// A Pod is who a cgroup belongs to. Samplers know UIDs and IDs only.
type Pod struct {
	Namespace, Name, UID, Node string
	Labels                     map[string]string
	// HostNetwork: what its devices count is the node's, not its own.
	HostNetwork bool
	// Containers are names by ID.
	Containers map[string]string

	ip          string
	ready, gone bool
}

// podObject is what is decoded of a pod.
type podObject struct {
	Metadata struct {
		history.Meta
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		NodeName    string `json:"nodeName"`
		HostNetwork bool   `json:"hostNetwork"`
	} `json:"spec"`
	Status struct {
		PodIP             string            `json:"podIP"`
		Phase             corev1.PodPhase   `json:"phase"`
		Conditions        []podCondition    `json:"conditions"`
		Containers        []containerOfAPod `json:"containerStatuses"`
		InitContainers    []containerOfAPod `json:"initContainerStatuses"`
		EphemeralStatuses []containerOfAPod `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type podCondition struct {
	Type   corev1.PodConditionType `json:"type"`
	Status corev1.ConditionStatus  `json:"status"`
}

type containerOfAPod struct {
	Name      string `json:"name"`
	ID        string `json:"containerID"`
	LastState struct {
		Terminated struct {
			ID string `json:"containerID"`
		} `json:"terminated"`
	} `json:"lastState"`
}

// GetNamespace returns the pod's namespace.
func (p *podObject) GetNamespace() string { return p.Metadata.Namespace }

// GetName returns the pod's name.
func (p *podObject) GetName() string { return p.Metadata.Name }

// GetResourceVersion returns the version of the object.
func (p *podObject) GetResourceVersion() string { return p.Metadata.ResourceVersion }

// hashAnnotation has the UID by which a kubelet knows a pod that it has from a
// file. The API server's object of it has another.
const hashAnnotation = "kubernetes.io/config.hash"

// watchPods calls record with each version of every pod, under the UID that its
// cgroup has.
func watchPods(ctx context.Context, c *kube.Client, record func(uid string, p *podObject, gone bool)) (*history.Watcher, error) {
	return history.Start(ctx, c, corev1.SchemeGroupVersion.WithKind("Pod"), history.Options{}, func(e history.Event[podObject]) {
		uid := e.Object.Metadata.UID
		if hash := e.Object.Metadata.Annotations[hashAnnotation]; hash != "" {
			uid = hash
		}
		record(uid, e.Object, e.Type == watch.Deleted)
	})
}

// update makes the pod what the object says. What it was before stays known:
// containers end, and their cgroups may be told of later.
func (p *Pod) update(o *podObject, gone bool) {
	p.Namespace, p.Name, p.Node = o.Metadata.Namespace, o.Metadata.Name, o.Spec.NodeName
	p.Labels, p.HostNetwork, p.ip = o.Metadata.Labels, o.Spec.HostNetwork, o.Status.PodIP
	p.ready, p.gone = false, gone
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodReady {
			p.ready = c.Status == corev1.ConditionTrue && !gone
		}
	}
	if p.Containers == nil {
		p.Containers = map[string]string{}
	}
	for _, statuses := range [][]containerOfAPod{o.Status.Containers, o.Status.InitContainers, o.Status.EphemeralStatuses} {
		for _, c := range statuses {
			for _, id := range []string{c.ID, c.LastState.Terminated.ID} {
				if _, id, ok := strings.Cut(id, "://"); ok { // containerd://ID
					p.Containers[id] = c.Name
				}
			}
		}
	}
}
