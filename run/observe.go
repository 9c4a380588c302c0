package run

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/gatemark/gatemark/measure/incident"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// logPatience is how long the last log of a pod that ended is waited for.
const logPatience = 10 * time.Second

// watchIncidents watches every pod of the implementation during a trial:
// whatever befalls one is a finding by itself, in whichever scenario.
func (e *Executor) watchIncidents(ctx context.Context, t *scenario.Trial) (*incident.Watcher, error) {
	data, err := t.DataPlane()
	if err != nil {
		return nil, err
	}
	control, err := t.ControlPlanes()
	if err != nil {
		return nil, err
	}
	var selections []incident.Selection
	for _, plane := range control {
		selections = append(selections, incident.Selection{Role: incident.ControlPlane, Namespace: plane.Namespace, Selector: plane.Labels})
	}
	selections = append(selections, incident.Selection{Role: incident.DataPlane, Namespace: data.Namespace, Selector: data.Labels})
	return incident.Start(ctx, e.Kube, incident.Options{Selections: selections, Since: e.baselines[installation(t.Target.Treatment)]})
}

// reportIncidents adds what happened to the pods to the trial.
func (e *Executor) reportIncidents(w *incident.Watcher, t *scenario.Trial) {
	r := w.Stop(logPatience)
	if e.baselines == nil {
		e.baselines = map[string]*incident.Baseline{}
	}
	e.baselines[installation(t.Target.Treatment)] = r.Baseline
	findings, files := r.Findings(t.Result.Started)
	t.Result.Findings = append(t.Result.Findings, findings...)
	// In the order of the selections.
	planes := []string{"-control-plane"}
	if t.Target.GatewayControlPlane != nil {
		planes = append(planes, "-gateway-control-plane")
	}
	planes = append(planes, "-data-plane")
	for i, gate := range r.Gates() {
		gate.Name += planes[i]
		t.Result.Gates = append(t.Result.Gates, gate)
	}
	maps.Copy(t.Attachments, files)
}

// failed makes a finding of a trial that the implementation did not let us
// carry out.
func failed(t *scenario.Trial, err error) {
	t.Find("not-measurable", result.Broken, fmt.Sprintf("the trial could not be carried out: %v", err),
		result.Evidence{Name: "what was waited for", Text: err.Error()})
}
