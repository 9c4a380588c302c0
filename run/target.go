package run

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/scenario"
)

// Target is what a scenario must know of an implementation that is in a
// cluster under the name of a treatment.
func Target(treatment string, i *implementation.Implementation) (scenario.Target, error) {
	// The data plane's place depends on the Gateway: it stays a template,
	// which the scenario fills in with its own.
	namespace, pods, err := i.DataPlaneOf("{{.Namespace}}", "{{.Name}}")
	if err != nil {
		return scenario.Target{}, fmt.Errorf("implementation %s: %w", treatment, err)
	}
	target := scenario.Target{
		Treatment:      treatment,
		GatewayClass:   i.GatewayClass.Name,
		Features:       i.Features,
		Dialect:        i.Dialect(),
		Policies:       i.Policies(),
		ControllerName: i.GatewayClass.ControllerName,
		ControlPlane:   scenario.Selector{Namespace: i.ControlPlane.Namespace, Labels: labels.Set(i.ControlPlane.Selector).String()},
		DataPlane:      scenario.Selector{Namespace: namespace, Labels: labels.Set(pods).String()},
	}
	if admin := i.DataPlane.Admin; admin != nil {
		target.ConfigDump = &scenario.ConfigDump{Format: admin.Format, Port: admin.Port}
	}
	target.ControlPlaneMetrics, target.DataPlaneMetrics = metrics(i.ControlPlane.Metrics), metrics(i.DataPlane.Metrics)
	if own := i.ControlPlane.PerGateway; own != nil {
		namespace, pods, err := i.ControlPlaneOf("{{.Namespace}}", "{{.Name}}")
		if err != nil {
			return scenario.Target{}, fmt.Errorf("implementation %s: %w", treatment, err)
		}
		target.GatewayControlPlane = &scenario.Selector{Namespace: namespace, Labels: labels.Set(pods).String()}
		target.GatewayControlPlaneMetrics = metrics(own.Metrics)
	}
	return target, nil
}

// Installation is what the run must know of an implementation that it
// installed, to set it aside.
func Installation(i *implementation.Implementation) (park.Installation, error) {
	target, err := Target(i.Name, i)
	if err != nil {
		return park.Installation{}, err
	}
	in := park.Installation{
		Name: i.Part(), GatewayClass: i.GatewayClass.Name,
		DataPlane: park.DataPlane{Kind: i.DataPlane.WorkloadKind, Selector: target.DataPlane, PerGateway: i.DataPlane.PerGateway},
	}
	for _, w := range i.ControlPlane.Workloads {
		in.ControlPlane = append(in.ControlPlane, kube.WorkloadRef{Kind: w.Kind, Namespace: i.ControlPlane.Namespace, Name: w.Name})
	}
	return in, nil
}

func metrics(e *implementation.Endpoint) *scenario.Metrics {
	if e == nil {
		return nil
	}
	return &scenario.Metrics{Port: e.Port, Path: e.Path}
}
