package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A Node is what the API server knows of a machine of the cluster.
type Node struct {
	Name string
	// CPUs is the capacity in whole CPUs, MemoryBytes that in bytes.
	CPUs, MemoryBytes int64
	Architecture      string
	Kernel, OS        string
	ContainerRuntime  string
	Kubelet           string
	Ready             bool
}

// Nodes lists the machines of a cluster by name.
func Nodes(ctx context.Context, c *Client) ([]Node, error) {
	var list corev1.NodeList
	if err := c.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]Node, 0, len(list.Items))
	for _, n := range list.Items {
		info := n.Status.NodeInfo
		node := Node{
			Name: n.Name, CPUs: n.Status.Capacity.Cpu().Value(), MemoryBytes: n.Status.Capacity.Memory().Value(),
			Architecture: info.Architecture, Kernel: info.KernelVersion, OS: info.OSImage,
			ContainerRuntime: info.ContainerRuntimeVersion, Kubelet: info.KubeletVersion,
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				node.Ready = c.Status == corev1.ConditionTrue
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}
