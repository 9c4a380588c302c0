package pods

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/fault"
)

//go:embed dataplane.yaml
var dataPlane string

// A Placement makes data planes of pods.
type Placement struct {
	Kube *kube.Client
	// Image is gatemark's, for the replicas.
	Image    string
	Replicas int
	// Control is where replicas reach the control plane's feed: http://host:port.
	Control string
	// Faults are handed to the replicas as they start.
	Faults fault.Faults

	applied map[string]string // what was applied last, by Gateway
}

var _ controlplane.Placement = (*Placement)(nil)

// Place applies a Gateway's objects where they differ from those of the last
// time.
func (p *Placement) Place(ctx context.Context, objects client.Reader, g *gatewayv1.Gateway, ports []int32, _ *config.Snapshot) (controlplane.Placed, error) {
	wanted, err := p.render(g, ports)
	if err != nil {
		return controlplane.Placed{}, err
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return controlplane.Placed{}, err
	}
	key := client.ObjectKeyFromObject(g).String()
	if p.applied[key] != string(text) {
		if err := kube.Apply(ctx, p.Kube, wanted...); err != nil {
			return controlplane.Placed{}, err
		}
		if p.applied == nil {
			p.applied = map[string]string{}
		}
		p.applied[key] = string(text)
	}
	return placed(ctx, objects, g)
}

// Remove has nothing to do: what belongs to a Gateway goes with it.
func (p *Placement) Remove(gateway string) { delete(p.applied, gateway) }

func (p *Placement) render(g *gatewayv1.Gateway, ports []int32) ([]*unstructured.Unstructured, error) {
	faults, err := json.Marshal(p.Faults)
	if err != nil {
		return nil, err
	}
	type port struct {
		Name         string
		Port, Serves int32
	}
	var all []port
	for _, n := range ports {
		all = append(all, port{controlplane.PortName(n), n, config.ServingPort(n)})
	}
	name, labels := controlplane.DataPlane(g)
	objects, err := kube.Render("dataplane.yaml", dataPlane, map[string]any{
		"Name": name, "Namespace": g.Namespace, "Selector": labels, "Replicas": p.Replicas, "Image": p.Image,
		"Gateway": client.ObjectKeyFromObject(g).String(), "Control": p.Control, "Faults": string(faults),
		"AdminPort": config.AdminPort, "Ports": all,
	})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := adopt(o, g, labels); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// adopt makes an object the Gateway's: its owner, and the labels and
// annotations that the Gateway wants on everything made for it.
func adopt(o *unstructured.Unstructured, g *gatewayv1.Gateway, labels map[string]string) error {
	labels, annotations := maps.Clone(labels), map[string]string{}
	if i := g.Spec.Infrastructure; i != nil {
		for name, value := range i.Labels {
			labels[string(name)] = string(value)
		}
		for name, value := range i.Annotations {
			annotations[string(name)] = string(value)
		}
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: g.Name, UID: g.UID, Controller: ptr.To(true),
	}})
	if o.GetKind() != "Deployment" {
		return nil
	}
	if err := unstructured.SetNestedStringMap(o.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
		return err
	}
	return unstructured.SetNestedStringMap(o.Object, annotations, "spec", "template", "metadata", "annotations")
}

// placed reads how far the data plane is.
func placed(ctx context.Context, objects client.Reader, g *gatewayv1.Gateway) (controlplane.Placed, error) {
	name, _ := controlplane.DataPlane(g)
	var p controlplane.Placed
	service := new(corev1.Service)
	if err := objects.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: name}, service); err != nil {
		return p, client.IgnoreNotFound(err) // the cache does not show it yet
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			p.Addresses = append(p.Addresses, ingress.IP)
		} else if ingress.Hostname != "" {
			p.Addresses = append(p.Addresses, ingress.Hostname)
		}
	}
	var slices discoveryv1.EndpointSliceList
	err := objects.List(ctx, &slices, client.InNamespace(g.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: name})
	if err != nil {
		return p, fmt.Errorf("find the replicas: %w", err)
	}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			p.Ready = p.Ready || ptr.Deref(e.Conditions.Ready, true)
		}
	}
	return p, nil
}
