package implementation

import "fmt"

// FoundAs returns the implementation as somebody else installed it: with a
// GatewayClass of that name, and a control plane in that namespace. The
// version, where it could be told, is by its image's tag. What the data says
// about an installation of ours is left out.
func (i *Implementation) FoundAs(class, namespace, version string) (*Implementation, error) {
	effective, problems := i.patched(map[string]any{"release": map[string]any{"namespace": namespace}})
	if len(problems) > 0 {
		return nil, fmt.Errorf("implementation %s in namespace %s: %w", i.Name, namespace, problems[0])
	}
	effective.Variant = i.Variant
	effective.GatewayClass.Name = class
	effective.Deviations, effective.Images = nil, nil
	runs := "version " + version + " by its image's tag"
	if version == "" {
		runs = "in a version that its images do not tell"
	}
	effective.Version = version
	effective.add(Deviation{
		What: fmt.Sprintf("It runs as somebody else installed it, %s; gatemark's data on it was written for %s.", runs, i.Version),
		Why:  "It was found in the cluster by its GatewayClass " + class + ".",
	})
	return effective, nil
}

// GatewayNameLabel is on what an implementation makes for a Gateway, where it
// keeps to GEP-1762 of the Gateway API.
const GatewayNameLabel = "gateway.networking.k8s.io/gateway-name"

// OfClass is what is known of an implementation that gatemark has no data on:
// its GatewayClass. Of its pods only those can be told that carry the Gateway
// API's own label, in the Gateway's namespace.
func OfClass(class, controller string) *Implementation {
	return &Implementation{
		Name: class, Title: "GatewayClass " + class,
		GatewayClass: GatewayClass{Name: class, ControllerName: controller},
		// No pod has this label: the control plane could be any.
		ControlPlane: ControlPlane{Namespace: "default", Selector: map[string]string{"gatemark.dev/unknown": "control-plane"}},
		DataPlane: DataPlane{
			PerGateway: true, Namespace: "{{ .Gateway.Namespace }}",
			Selector: map[string]string{GatewayNameLabel: "{{ .Gateway.Name }}"},
		},
		Quirks: []string{
			"gatemark has no data on this implementation. What its control plane uses is not measured, and its pods are not watched.",
			"Replicas of its data plane are told apart only where its pods carry the Gateway API's own label " + GatewayNameLabel + ", in the Gateway's namespace. Otherwise the Gateway's address is probed as if it were one replica.",
		},
	}
}
