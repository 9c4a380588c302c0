package routepropagation

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/probe"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed pair.yaml
var pairManifest string

// A pair is two backends of one pod each, and their endpoints.
type pair struct {
	// pods are their pods, by Service.
	pods map[string]string
	// slices are their EndpointSlices, in the order of singleBackends.
	slices []*discoveryv1.EndpointSlice
}

// setPair makes the backends, and waits until both have an endpoint.
func setPair(ctx context.Context, t *scenario.Trial) (*pair, error) {
	t.Progress("making two more backends")
	err := t.Apply(ctx, "pair.yaml", pairManifest, map[string]any{
		"Namespace": t.Namespace, "EchoImage": t.EchoImage, "Single": singleBackends, "Shared": sharedBackend,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scenario.StageLimit)
	defer cancel()
	both := &pair{pods: map[string]string{}}
	for _, name := range singleBackends {
		key := client.ObjectKey{Namespace: t.Namespace, Name: name}
		if _, err := kube.Wait(ctx, t.Kube, "deployment "+key.String(), key, scenario.Available); err != nil {
			return nil, err
		}
		slice, pod, err := endpoint(ctx, t, name)
		if err != nil {
			return nil, err
		}
		both.slices, both.pods[name] = append(both.slices, slice), pod
	}
	return both, nil
}

// endpoint waits for the one endpoint of a Service, and names its pod.
func endpoint(ctx context.Context, t *scenario.Trial, service string) (*discoveryv1.EndpointSlice, string, error) {
	opts := []client.ListOption{client.InNamespace(t.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}}
	var found *discoveryv1.EndpointSlice
	err := kube.WaitAll(ctx, t.Kube, "endpoint of service "+service, opts, func(slices []*discoveryv1.EndpointSlice) (bool, string) {
		n := 0
		for _, s := range slices {
			n += len(s.Endpoints)
			if len(s.Endpoints) == 1 && s.Endpoints[0].TargetRef != nil && ptr.Deref(s.Endpoints[0].Conditions.Ready, true) {
				found = s
			}
		}
		return n == 1 && found != nil, fmt.Sprintf("%d endpoints", n)
	})
	if err != nil {
		return nil, "", err
	}
	return found, found.Endpoints[0].TargetRef.Name, nil
}

// slice is the EndpointSlice of the shared Service, with the first or both of
// the endpoints.
func (p *propagation) slice(both *pair, n int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: sharedBackend + "-gatemark", Namespace: p.Namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: sharedBackend, discoveryv1.LabelManagedBy: "gatemark.dev"},
		},
		AddressType: both.slices[0].AddressType, Ports: both.slices[0].Ports,
	}
	kube.Own(slice, p.RunID, p.Result.ID)
	for _, s := range both.slices[:n] {
		slice.Endpoints = append(slice.Endpoints, s.Endpoints...)
	}
	return slice
}

// balanced is the subject of endpoints that come and go. One stays all along,
// so that both answer side by side while there are two.
func (p *propagation) balanced(both *pair) *subject {
	const name = "balanced"
	form := shapes[0].form(name)
	form.Backends = []weighted{{sharedBackend, 1}}
	shows := func(service string) probe.State {
		return probe.Serves(form.marker(p.route(), name, map[string]string{sharedBackend: both.pods[service]}))
	}
	return &subject{
		kinds: []string{kindEndpointAdded, kindEndpointRemoved},
		begin: func() (step, error) {
			s, err := p.creationOf(name, form, map[string]string{sharedBackend: both.pods[firstBackend]})
			create := s.write
			s.write = func(ctx context.Context) (*scenario.RouteVersion, error) {
				if err := kube.Create(ctx, p.Kube, p.slice(both, 1)); err != nil {
					return nil, err
				}
				return create(ctx)
			}
			return s, err
		},
		step: func(n int) (step, error) {
			s := step{kind: kindEndpointAdded, name: name, question: form.asks(p.route())}
			s.question.Old, s.question.New, s.question.Mixed = shows(firstBackend), shows(secondBackend), probe.MixedAfter
			if n%2 == 1 {
				s.kind = kindEndpointRemoved
				s.question.Old, s.question.New, s.question.Mixed = shows(secondBackend), shows(firstBackend), probe.MixedBefore
			}
			slice := p.slice(both, 2-n%2)
			s.write = func(ctx context.Context) (*scenario.RouteVersion, error) { return nil, p.writeEndpoints(ctx, slice) }
			return s, nil
		},
	}
}

func (p *propagation) writeEndpoints(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
	patch, err := json.Marshal(map[string]any{"endpoints": slice.Endpoints})
	if err != nil {
		return err
	}
	if err := p.Kube.Patch(ctx, slice, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("change the endpoints of service %s: %w", sharedBackend, err)
	}
	return nil
}
