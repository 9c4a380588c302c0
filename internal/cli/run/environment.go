package run

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/build"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/park"
)

// environment describes where the run takes place.
func environment(ctx context.Context, c *cluster.Cluster, k *kube.Client) (result.Environment, error) {
	info := build.Current()
	env := result.Environment{
		Gatemark: result.Software{Version: info.Version, Commit: info.Commit, Go: info.Go},
		Cluster:  result.Cluster{Kind: c.Kind, Name: c.Name, Version: k.Version.GitVersion},
	}
	nodes, err := kube.Nodes(ctx, k)
	if err != nil {
		return env, err
	}
	for _, n := range nodes {
		node := result.Node{
			Name: n.Name, CPUs: n.CPUs, MemoryBytes: n.MemoryBytes, Architecture: n.Architecture, Kernel: n.Kernel,
			OS: n.OS, ContainerRuntime: n.ContainerRuntime, Kubelet: n.Kubelet,
		}
		if c.Kind == cluster.Local {
			// The node is this machine.
			node.CPUModel, node.CgroupVersion = cpuModel(), cgroupVersion()
		}
		env.Cluster.Nodes = append(env.Cluster.Nodes, node)
	}
	if len(nodes) == 1 {
		env.Placement = append(env.Placement,
			"One node: the gateway's control plane and data plane, the backends, the runner that probes, and Kubernetes itself share its CPUs, without cpusets of their own.",
			"CPU requests, which weigh when the CPUs are busy: the runner 1, each backend 0.1; the gateway as its chart asks.")
	} else {
		env.Placement = append(env.Placement, "Pods were placed by the cluster's own scheduler.")
	}
	return env, nil
}

// isolationWords says what happens to implementations that are not under test.
func (c *conductor) isolationWords() string {
	measured := 0
	for _, s := range c.subjects {
		if s.err == nil {
			measured++
		}
	}
	switch {
	case measured == 1:
		return "There was one implementation, and nothing to set aside."
	case len(c.installed) == 0:
		return "Every implementation was found in the cluster, and stays on during each trial."
	case c.plan.Isolation == "parked":
		return "Parked: before each trial, the other implementations of the run are set aside, and the node is let come to rest."
	default:
		return "Every implementation of the run stays on during each trial (" + c.plan.Isolation + ")."
	}
}

// cpuWords says what CPU time a control plane asks for, and what it may have at
// most. Data planes come with their Gateways.
func cpuWords(ctx context.Context, k *kube.Client, in park.Installation) ([]string, error) {
	var lines []string
	for _, ref := range in.ControlPlane {
		w, err := kube.GetWorkload(ctx, k, ref)
		if err != nil {
			return nil, fmt.Errorf("CPU requests of %s: %w", ref, err)
		}
		containers, _, err := unstructured.NestedSlice(w.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return nil, fmt.Errorf("CPU requests of %s: %w", ref, err)
		}
		for _, raw := range containers {
			container, _ := raw.(map[string]any)
			lines = append(lines, fmt.Sprintf("CPU of %s, container %v: request %s, limit %s", ref, container["name"],
				cpuOf(container, "requests"), cpuOf(container, "limits")))
		}
	}
	return lines, nil
}

func cpuOf(container map[string]any, kind string) string {
	amount, found, err := unstructured.NestedString(container, "resources", kind, "cpu")
	if err != nil || !found {
		return "none"
	}
	return amount
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// cgroupVersion is that of the memory controller, which accounts for pods.
func cgroupVersion() int {
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.usage_in_bytes"); err == nil {
		return 1
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return 2
	}
	return 0
}

// describeFound is an implementation that somebody else installed, in the
// result's terms.
func describeFound(i *implementation.Implementation, found *install.Found) result.Implementation {
	d := result.Implementation{
		Name: i.Name, Title: i.Title, Version: i.Version, Variant: i.Variant,
		GatewayClass: found.Class, ControllerName: i.GatewayClass.ControllerName, Quirks: i.Quirks,
	}
	if i.Project.URL != "" {
		d.Project = project(i.Project)
	}
	for _, img := range found.Images {
		d.Images = append(d.Images, result.Image{Role: img.Role, Ref: img.Ref, Digest: img.Digest, Origin: string(img.Origin)})
	}
	for _, deviation := range i.Deviations {
		d.Deviations = append(d.Deviations, result.Deviation(deviation))
	}
	return d
}

// describe is an installed implementation in the result's terms.
func describe(i *implementation.Implementation, in *install.Installed) result.Implementation {
	d := result.Implementation{
		Name: i.Name, Title: in.Title, Version: i.Version, Variant: in.Variant, Installed: true,
		GatewayClass: in.GatewayClass, ControllerName: in.ControllerName,
		DataPlaneProxy: strings.TrimSpace(i.Project.DataPlaneProxy + " " + i.Project.DataPlaneProxyVersion),
		Chart:          chartsWords(in), Quirks: in.Quirks, Project: project(i.Project),
	}
	for _, img := range in.Images {
		d.Images = append(d.Images, result.Image{Role: img.Role, Ref: img.Ref, Digest: img.Digest, Origin: string(img.Origin), From: img.From})
	}
	for _, deviation := range in.Deviations {
		d.Deviations = append(d.Deviations, result.Deviation(deviation))
	}
	return d
}

// chartsWords names the charts in the order in which they were installed.
func chartsWords(in *install.Installed) string {
	var words []string
	for _, c := range append(slices.Clone(in.Before), in.Chart) {
		words = append(words, chartWords(c))
	}
	return strings.Join(words, ", ")
}

func chartWords(c install.Chart) string {
	from := c.Module + "@" + c.ModuleVersion
	switch {
	case c.Repository != "":
		from = c.Repository
	case c.Module == "":
		from = "gatemark itself"
	}
	if len(c.Manifests) > 0 {
		return "no chart: " + strings.Join(c.Manifests, ", ") + " from " + from
	}
	return c.Name + " " + c.Version + " from " + from
}

func project(p implementation.Project) []result.ProjectRow {
	rows := []result.ProjectRow{
		{Name: "open source", Value: p.OpenSource},
		{Name: "licence", Value: p.License},
		{Name: "foundation", Value: p.Foundation},
		{Name: "vendors", Value: strings.Join(p.Vendors, ", ")},
		{Name: "data-plane proxy", Value: strings.TrimSpace(p.DataPlaneProxy + " " + p.DataPlaneProxyVersion)},
		{Name: "web page", Value: p.URL},
	}
	for i := range rows {
		if rows[i].Value == "" {
			rows[i].Value = "none"
		}
	}
	return rows
}
