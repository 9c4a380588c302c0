package scenario

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/probe"
)

//go:embed base.yaml
var baseManifest string

// StageLimit bounds how long backends and a Gateway may take to be ready.
const StageLimit = 3 * time.Minute

// OldLimit bounds the wait for the old state before a change.
const OldLimit = 30 * time.Second

// The Gateway of base.yaml.
const (
	GatewayName  = "gateway"
	ListenerPort = 80
	SecurePort   = 443
)

// Label is a treatment's name as a part of names of objects and metrics.
func Label(treatment string) string {
	return strings.NewReplacer("/", "-", "#", "-", "@", "-", "=", "-", ".", "-").Replace(treatment)
}

// RivalGateway is the name of the Gateway that another implementation has in a
// trial of isolation joined.
func RivalGateway(treatment string) string {
	return "rival-" + Label(treatment)
}

// A Listener of the trial's Gateway. Host may be empty. Set names the
// ListenerSet that has it, and is empty for the Gateway's own.
type Listener struct {
	Name, Host, Set string
	// Passthrough is one for TLS that is passed through.
	Passthrough bool
	// Secret names the certificate of one for HTTPS.
	Secret string
	// Open is one to which routes of all namespaces may attach.
	Open bool
}

// Port is where the listener is.
func (l Listener) Port() int32 {
	if l.Passthrough || l.Secret != "" {
		return SecurePort
	}
	return ListenerPort
}

// A Stage is the trial's backend and Gateway, ready to be measured.
type Stage struct {
	Replicas []kube.Replica
}

// Backends are the pods of the trial's backend.
type Backends struct {
	Pods int
	// Secret names the certificate that they show; without it each makes one for
	// itself.
	Secret string
}

// SetStage makes the backend and the Gateway, and waits until both are ready
// and every data-plane replica that serves the first listener is known.
func (t *Trial) SetStage(ctx context.Context, backends Backends, listeners ...Listener) (*Stage, error) {
	t.Progress("making the backend and the Gateway")
	err := t.Apply(ctx, "base.yaml", baseManifest, map[string]any{
		"Namespace": t.Namespace, "EchoImage": t.EchoImage, "Backends": backends,
		"GatewayClass": t.Target.GatewayClass, "Listeners": listeners,
	})
	if err != nil {
		return nil, Invalid{err}
	}
	ctx, cancel := context.WithTimeout(ctx, StageLimit)
	defer cancel()
	created := time.Now()
	key := client.ObjectKey{Namespace: t.Namespace, Name: "echo"}
	if _, err := kube.Wait(ctx, t.Kube, "deployment "+key.String(), key, Available); err != nil {
		return nil, Invalid{err}
	}
	if t.Target.GatewayClass != "" {
		t.Progress("waiting for the Gateway")
		if _, err := t.WaitGateway(ctx, GatewayName); err != nil {
			return nil, GatewayError(err)
		}
	}
	replicas, err := t.Replicas(ctx, listeners[0].Port())
	if err != nil {
		return nil, err
	}
	if err := t.checkImages(ctx); err != nil {
		return nil, err
	}
	t.Begin() // the clock of the trial's pictures begins where its work does
	if t.Target.GatewayClass != "" {
		t.Note("The Gateway was programmed %.1f s after it was created; its data plane had %d %s.",
			time.Since(created).Seconds(), len(replicas), Plural(len(replicas), "replica"))
	}
	return &Stage{replicas}, nil
}

// GatewayError tells the implementation's fault from ours: a Gateway that was
// seen and never became ready is a finding.
func GatewayError(err error) error {
	var waited *kube.WaitError
	if errors.As(err, &waited) && errors.Is(err, context.DeadlineExceeded) {
		return Failed{err}
	}
	return Invalid{err}
}

// Replicas finds the data plane's pods that serve a listener's port, and waits
// until they are serving.
func (t *Trial) Replicas(ctx context.Context, port int32) ([]kube.Replica, error) {
	for {
		replicas, err := t.FindReplicas(ctx, port)
		if err == nil && len(replicas) > 0 && allServing(replicas) {
			return replicas, nil
		}
		select {
		case <-ctx.Done():
			err = errors.Join(err, fmt.Errorf("the data plane of %s/%s is to serve, and %s do", t.Namespace, GatewayName, describe(replicas)))
			return nil, Failed{err}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func allServing(replicas []kube.Replica) bool {
	for _, r := range replicas {
		if !r.Serving || r.Terminating {
			return false
		}
	}
	return true
}

func describe(replicas []kube.Replica) string {
	serving := 0
	for _, r := range replicas {
		if r.Serving && !r.Terminating {
			serving++
		}
	}
	return fmt.Sprintf("%d of %d replicas", serving, len(replicas))
}

// Targets are the replicas as the prober wants them.
func (s *Stage) Targets() []probe.Target {
	var targets []probe.Target
	for _, r := range s.Replicas {
		name := r.Pod
		if name == "" {
			name = r.Address().String()
		}
		targets = append(targets, probe.Target{Name: name, Address: r.Address()})
	}
	return targets
}

// Apply renders a manifest and writes its objects.
func (t *Trial) Apply(ctx context.Context, name, manifest string, data any) error {
	objects, err := t.Render(name, manifest, data)
	if err != nil {
		return err
	}
	return kube.Apply(ctx, t.Kube, objects...)
}

// Render fills a manifest and labels its objects as the trial's.
func (t *Trial) Render(name, manifest string, data any) ([]*unstructured.Unstructured, error) {
	objects, err := kube.Render(name, manifest, data)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		kube.Own(o, t.RunID, t.Result.ID)
	}
	return objects, nil
}

// DataPlane selects the data plane of the trial's Gateway.
func (t *Trial) DataPlane() (Selector, error) {
	return t.Target.DataPlane.For(t.Namespace, GatewayName)
}

// ControlPlanes select the pods of the control plane: those that serve all
// Gateways, and those of the trial's Gateway alone, where there are such.
func (t *Trial) ControlPlanes() ([]Selector, error) {
	all := []Selector{t.Target.ControlPlane}
	if t.Target.GatewayControlPlane != nil {
		own, err := t.Target.GatewayControlPlane.For(t.Namespace, GatewayName)
		if err != nil {
			return nil, err
		}
		all = append(all, own)
	}
	return all, nil
}

// For fills a Gateway into a selector.
func (s Selector) For(namespace, gateway string) (Selector, error) {
	data := map[string]string{"Namespace": namespace, "Name": gateway}
	fill := func(text string) (string, error) {
		tmpl, err := template.New("selector").Option("missingkey=error").Parse(text)
		if err != nil {
			return "", fmt.Errorf("selector %q: %w", text, err)
		}
		var b strings.Builder
		if err := tmpl.Execute(&b, data); err != nil {
			return "", fmt.Errorf("selector %q: %w", text, err)
		}
		return b.String(), nil
	}
	ns, err1 := fill(s.Namespace)
	labels, err2 := fill(s.Labels)
	return Selector{Namespace: ns, Labels: labels}, errors.Join(err1, err2)
}

// Available reports whether a Deployment, as it was last written, has all its
// pods, and how many it has.
func Available(d *appsv1.Deployment) (bool, string) {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	have := d.Status.AvailableReplicas
	return d.Status.ObservedGeneration >= d.Generation && have >= want, fmt.Sprintf("%d of %d available", have, want)
}
