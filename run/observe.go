package run

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/measure/configdump"
	"github.com/gatemark/gatemark/measure/evidence"
	"github.com/gatemark/gatemark/measure/incident"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// logPatience is how long the last log of a pod that ended is waited for.
const logPatience = 10 * time.Second

// evidenceLimit bounds the taking of evidence.
const evidenceLimit = 30 * time.Second

// watchIncidents watches every pod of the implementation during a trial:
// whatever befalls one is a finding by itself, in whichever scenario.
func (e *Executor) watchIncidents(ctx context.Context, t *scenario.Trial) (*incident.Watcher, error) {
	data, err := t.DataPlane()
	if err != nil {
		return nil, err
	}
	control := t.Target.ControlPlane
	return incident.Start(ctx, e.Kube, incident.Options{
		Selections: []incident.Selection{
			{Role: incident.ControlPlane, Namespace: control.Namespace, Selector: control.Labels},
			{Role: incident.DataPlane, Namespace: data.Namespace, Selector: data.Labels},
		},
		Since: e.baselines[t.Target.Treatment],
	})
}

// reportIncidents adds what happened to the pods to the trial.
func (e *Executor) reportIncidents(w *incident.Watcher, t *scenario.Trial) {
	r := w.Stop(logPatience)
	if e.baselines == nil {
		e.baselines = map[string]*incident.Baseline{}
	}
	e.baselines[t.Target.Treatment] = r.Baseline
	findings, files := r.Findings(t.Result.Started)
	t.Result.Findings = append(t.Result.Findings, findings...)
	// In the order of the selections.
	for i, gate := range r.Gates() {
		gate.Name += []string{"-control-plane", "-data-plane"}[i]
		t.Result.Gates = append(t.Result.Gates, gate)
	}
	maps.Copy(t.Attachments, files)
}

// takeEvidence keeps, for findings that say that users were hurt, what both
// planes said and how the objects were, before all of that is removed.
func (e *Executor) takeEvidence(ctx context.Context, t *scenario.Trial) {
	var broken []*result.Finding
	for i := range t.Result.Findings {
		if f := &t.Result.Findings[i]; f.Severity == result.Broken {
			broken = append(broken, f)
		}
	}
	if len(broken) == 0 && t.Result.Outcome != result.Failed {
		return
	}
	t.Progress("taking evidence")
	data, err := t.DataPlane()
	if err != nil {
		t.Note("No evidence could be taken: %v.", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceLimit)
	defer cancel()
	control := t.Target.ControlPlane
	dumps, err := e.dumps(ctx, t, data)
	if err != nil {
		t.Note("The proxies' configuration is not among the evidence: %v.", err)
	}
	bundle := evidence.Take(ctx, e.Kube, evidence.Request{
		Name: "broken", At: time.Now(), Before: time.Since(t.Result.Started),
		Pods:   []evidence.Pods{{Namespace: control.Namespace, Selector: control.Labels}, {Namespace: data.Namespace, Selector: data.Labels}},
		Events: []string{t.Namespace, control.Namespace},
		Dumps:  dumps,
		Objects: []evidence.Object{
			{GVK: gatewayv1.SchemeGroupVersion.WithKind("Gateway"), Key: client.ObjectKey{Namespace: t.Namespace, Name: scenario.GatewayName}},
		},
	})
	maps.Copy(t.Attachments, bundle.Files)
	for _, f := range broken {
		f.Evidence = append(f.Evidence, bundle.Evidence()...)
	}
	for _, missing := range bundle.Missing {
		t.Note("Evidence that could not be had: %s.", missing)
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

// failed makes a finding of a trial that the implementation did not let us
// carry out.
func failed(t *scenario.Trial, err error) {
	t.Find("not-measurable", result.Broken, fmt.Sprintf("the trial could not be carried out: %v", err),
		result.Evidence{Name: "what was waited for", Text: err.Error()})
}
