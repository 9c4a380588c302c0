package routescale

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

//go:embed listenerset.yaml
var setManifest string

// setFeature is what a GatewayClass that supports ListenerSets lists.
const setFeature = "ListenerSet"

// sharedBackend is the Service of all routes of a namespace that attach to
// ListenerSets.
const sharedBackend = "backend"

// A set is a ListenerSet with a domain and a certificate of its own.
type set struct {
	namespace, name, domain string
	// serial is the certificate's number, as scenario.KeyPair has it.
	serial string
}

// port is the listeners' that are asked.
func (s *scaling) port() int32 {
	if s.perSet > 0 {
		return scenario.SecurePort
	}
	return scenario.ListenerPort
}

func (s *scaling) supportsSets(ctx context.Context) error {
	if s.perSet == 0 {
		return nil
	}
	return s.Supports(ctx, "ListenerSet", setFeature)
}

// allowSets lets the Gateway have ListenerSets of all namespaces, each of which
// gets a backend.
func (s *scaling) allowSets(ctx context.Context) error {
	if s.perSet == 0 {
		return nil
	}
	objects, err := s.Render("listenerset.yaml", setManifest, map[string]any{"Gateway": scenario.GatewayName, "GatewayNamespace": s.Namespace})
	if err != nil {
		return err
	}
	for i, into := range []client.Object{&s.model.secret, &s.model.listeners} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, into); err != nil {
			return fmt.Errorf("manifest listenerset.yaml: %w", err)
		}
	}
	gateway := &gatewayv1.Gateway{}
	gateway.Namespace, gateway.Name = s.Namespace, scenario.GatewayName
	if err := s.patch(ctx, gateway, map[string]any{"spec": map[string]any{"allowedListeners": map[string]any{"namespaces": map[string]any{"from": "All"}}}}); err != nil {
		return err
	}
	return kube.Parallel(ctx, len(s.namespaces), s.Values.Int("writers"), nil, func(ctx context.Context, i int) error {
		shared := s.model.objects(&route{namespace: s.namespaces[i], name: sharedBackend, pod: i % backends})
		return kube.Create(ctx, s.Kube, shared[:2]...)
	})
}

// ofSet is a route that attaches to a ListenerSet.
func (m *model) ofSet(r *route) *gatewayv1.HTTPRoute {
	http := m.route.DeepCopy()
	http.Name, http.Namespace = r.name, r.namespace
	http.Spec.ParentRefs = []gatewayv1.ParentReference{{
		Group: ptr.To(gatewayv1.Group(gatewayv1.GroupName)), Kind: ptr.To(gatewayv1.Kind("ListenerSet")), Name: gatewayv1.ObjectName(r.set.name),
	}}
	http.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(r.host())}
	http.Spec.Rules[0].BackendRefs[0].Name = sharedBackend
	http.Spec.Rules[0].Filters[0].RequestHeaderModifier.Set = headers(r)
	return http
}

// makeSets makes the ListenerSets that so many routes take, and waits until they
// are programmed, at most for the limit.
func (s *scaling) makeSets(ctx context.Context, routes int) error {
	if s.perSet == 0 {
		return nil
	}
	first, want := len(s.sets), (routes+s.perSet-1)/s.perSet
	for n := first; n < want; n++ {
		name := fmt.Sprintf("set-%05d", n)
		s.sets = append(s.sets, &set{namespace: s.namespaces[n%len(s.namespaces)], name: name, domain: name + ".gatemark.test"})
	}
	fresh := s.sets[first:]
	if len(fresh) == 0 {
		return nil
	}
	s.Progress("making ListenerSets: %d more to %d", len(fresh), first)
	err := kube.Parallel(ctx, len(fresh), s.Values.Int("writers"), nil, func(ctx context.Context, i int) error { return s.makeSet(ctx, fresh[i]) })
	if err != nil {
		return fmt.Errorf("make ListenerSets: %w", err)
	}
	return s.awaitSets(ctx, first == 0)
}

func (s *scaling) makeSet(ctx context.Context, one *set) error {
	pair, err := scenario.NewKeyPair("*." + one.domain)
	if err != nil {
		return err
	}
	one.serial = pair.Serial
	secret, listeners := s.model.secret.DeepCopy(), s.model.listeners.DeepCopy()
	secret.Name, secret.Namespace = one.name, one.namespace
	secret.Data = map[string][]byte{corev1.TLSCertKey: []byte(pair.Certificate), corev1.TLSPrivateKeyKey: []byte(pair.Key)}
	listeners.Name, listeners.Namespace = one.name, one.namespace
	of := &listeners.Spec.Listeners[0]
	of.Hostname = ptr.To(gatewayv1.Hostname("*." + one.domain))
	of.TLS.CertificateRefs[0].Name = gatewayv1.ObjectName(one.name)
	return kube.Create(ctx, s.Kube, secret, listeners)
}

// awaitSets waits until every ListenerSet is programmed. Those that are not, are
// told of at the end; without any the trial cannot go on.
func (s *scaling) awaitSets(ctx context.Context, first bool) error {
	s.Progress("waiting for %d ListenerSets", len(s.sets))
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, s.Values.Duration("limit"))
	defer cancel()
	opts := []client.ListOption{client.MatchingLabels(kube.OwnedBy(s.RunID, s.Result.ID))}
	err := kube.WaitAll(waiting, s.Kube, "ListenerSets", opts, func(all []*gatewayv1.ListenerSet) (bool, string) { return allReadySets(all, len(s.sets)) })
	var waited *kube.WaitError
	switch {
	case err == nil:
		s.ready = append(s.ready, time.Since(began).Seconds())
	case !errors.As(err, &waited) || ctx.Err() != nil:
		return err
	default:
		s.unready = waited.Progress
		s.Broken("sets-not-ready")
	}
	if !first {
		return nil
	}
	if why := s.Unclaimed(ctx, setFeature); err != nil && why != "" {
		return scenario.Unsupported{Reason: fmt.Errorf("%s (%w)", why, err)}
	}
	finding, stop := context.WithTimeout(ctx, scenario.StageLimit)
	defer stop()
	s.stage.Replicas, err = s.Replicas(finding, s.port())
	return err
}

// allReadySets tells whether so many ListenerSets are programmed, and what the
// first one that is not lacks.
func allReadySets(all []*gatewayv1.ListenerSet, want int) (done bool, progress string) {
	ready, lack := 0, ""
	for _, one := range all {
		ok, why := kube.Current(one.Status.Conditions, one.Generation, string(gatewayv1.ListenerSetConditionAccepted), string(gatewayv1.ListenerSetConditionProgrammed))
		if ok {
			ready++
		} else if lack == "" {
			lack = fmt.Sprintf("; %s/%s: %s", one.Namespace, one.Name, why)
		}
	}
	return ready == want, strings.TrimSuffix(fmt.Sprintf("%d of %d are programmed%s", ready, want, lack), ": ")
}

// removeSets deletes the ListenerSets, and their certificates.
func (s *scaling) removeSets(ctx context.Context) error {
	return kube.Parallel(ctx, len(s.sets), s.Values.Int("writers"), nil, func(ctx context.Context, i int) error {
		for _, o := range []client.Object{s.model.listeners.DeepCopy(), s.model.secret.DeepCopy()} {
			o.SetName(s.sets[i].name)
			o.SetNamespace(s.sets[i].namespace)
			if err := s.Kube.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete %s: %w", kube.Describe(o), err)
			}
		}
		return nil
	})
}
