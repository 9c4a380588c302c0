package pods

import (
	"context"
	_ "embed"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/truth/controlplane"
	"github.com/gatemark/gatemark/truth/fault"
)

//go:embed install.yaml
var install string

// What an installation is called.
const (
	// Namespace is the control plane's.
	Namespace = "truth-system"
	// Class is the GatewayClass.
	Class = "truth"
)

// Installation says what to install.
type Installation struct {
	// Image is gatemark's.
	Image string
	// Replicas are those of each Gateway.
	Replicas int
	Faults   fault.Faults
}

// Objects are what an installation consists of, in the order in which they are
// to be made. The Gateway API's definitions are not among them.
func (i Installation) Objects() ([]*unstructured.Unstructured, error) {
	faults, err := json.Marshal(i.Faults)
	if err != nil {
		return nil, err
	}
	return kube.Render("install.yaml", install, map[string]any{
		"Namespace": Namespace, "Class": Class, "Controller": controlplane.Name,
		"Image": i.Image, "Replicas": i.Replicas, "Faults": string(faults),
	})
}

// Install installs truth and waits until it has accepted its GatewayClass.
func (i Installation) Install(ctx context.Context, c *kube.Client) error {
	objects, err := i.Objects()
	if err != nil {
		return err
	}
	for _, o := range objects {
		kube.Own(o, "", "")
	}
	if err := kube.Apply(ctx, c, objects...); err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: Namespace, Name: "truth"}
	_, err = kube.Wait(ctx, c, "deployment "+key.String(), key, func(d *appsv1.Deployment) (bool, string) {
		return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas > 0, "not available"
	})
	if err != nil {
		return err
	}
	_, err = kube.WaitGatewayClass(ctx, c, Class)
	return err
}
