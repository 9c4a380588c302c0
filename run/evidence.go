package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/configdump"
	"github.com/gatemark/gatemark/measure/evidence"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// evidenceLimit bounds the taking of evidence.
const evidenceLimit = 30 * time.Second

// mostBundles bounds the evidence of a trial. What is found broken within
// sameInstant of a bundle shares it.
const (
	mostBundles = 4
	sameInstant = 5 * time.Second
)

// A seizer takes evidence for one trial, when something is found broken.
type seizer struct {
	*Executor
	ctx   context.Context // of the trial, whose scenario calls seize
	trial *scenario.Trial

	bundles int
	last    time.Time
	refers  []result.Evidence
}

// seize keeps what both planes said and how the objects are, now.
func (s *seizer) seize(name string) []result.Evidence {
	if !s.last.IsZero() && time.Since(s.last) < sameInstant {
		return s.refers
	}
	t := s.trial
	if s.bundles == mostBundles {
		t.Note("There is no bundle of evidence for %q: the trial had %d already.", name, mostBundles)
		return nil
	}
	t.Progress("taking evidence")
	ctx, cancel := context.WithTimeout(s.ctx, evidenceLimit)
	defer cancel()
	data, err := t.DataPlane()
	if err != nil {
		t.Note("No evidence could be taken: %v.", err)
		return nil
	}
	dumps, err := s.dumps(ctx, t, data)
	if err != nil {
		t.Note("The proxies' configuration is not among the evidence: %v.", err)
	}
	control, err := t.ControlPlanes()
	if err != nil {
		t.Note("No evidence could be taken: %v.", err)
		return nil
	}
	var pods []evidence.Pods
	events := []string{t.Namespace}
	for _, plane := range append(control, data) {
		pods = append(pods, evidence.Pods{Namespace: plane.Namespace, Selector: plane.Labels})
	}
	for _, plane := range control {
		if !slices.Contains(events, plane.Namespace) {
			events = append(events, plane.Namespace)
		}
	}
	bundle := evidence.Take(ctx, s.Kube, evidence.Request{
		Name: name, At: time.Now(), Before: time.Since(t.Result.Started),
		Pods:   pods,
		Events: events,
		Dumps:  dumps,
		Objects: []evidence.Object{
			{GVK: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Key: client.ObjectKey{Namespace: t.Namespace, Name: scenario.GatewayName}},
		},
		Newest: []evidence.Newest{{GVK: gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute"), Namespace: t.Namespace}},
	})
	maps.Copy(t.Attachments, bundle.Files)
	for _, missing := range bundle.Missing {
		t.Note("Evidence that could not be had: %s.", missing)
	}
	s.bundles, s.last, s.refers = s.bundles+1, time.Now(), bundle.Evidence()
	return s.refers
}

// complete gives a bundle to findings of severity broken that have none:
// those of observers that know no trial.
func (s *seizer) complete() {
	for i := range s.trial.Result.Findings {
		f := &s.trial.Result.Findings[i]
		bundled := slices.ContainsFunc(f.Evidence, func(e result.Evidence) bool { return strings.HasPrefix(e.File, evidence.Folder) })
		if f.Severity == result.Broken && !bundled {
			f.Evidence = append(f.Evidence, s.seize("broken")...)
		}
	}
}

// dumps asks each proxy of the trial's Gateway for its configuration.
func (e *Executor) dumps(ctx context.Context, t *scenario.Trial, data scenario.Selector) (map[string]func(context.Context) ([]byte, error), error) {
	dump := t.Target.ConfigDump
	if dump == nil {
		return nil, nil
	}
	format, ok := configdump.Formats[dump.Format]
	if !ok {
		return nil, fmt.Errorf("its format %q is unknown", dump.Format)
	}
	pods, err := e.Kube.Clientset.CoreV1().Pods(data.Namespace).List(ctx, metav1.ListOptions{LabelSelector: data.Labels})
	if err != nil {
		return nil, err
	}
	dumps := map[string]func(context.Context) ([]byte, error){}
	for _, pod := range pods.Items {
		dumps["routes-"+pod.Name+".json"] = func(ctx context.Context) ([]byte, error) {
			source, err := configdump.Open(ctx, e.Kube.Config, pod.Namespace, pod.Name, dump.Port)
			if err != nil {
				return nil, err
			}
			defer source.Close()
			return source.Get(ctx, format.Path)
		}
	}
	return dumps, nil
}
