package run

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

// cleanupLimit bounds how long a trial's objects may take to go.
const cleanupLimit = 5 * time.Minute

// namespace is the trial's own: no two trials share an object.
func namespace(runID string, a Attempt) string {
	h := fnv.New32a()
	h.Write([]byte(a.Ref.ID))
	return fmt.Sprintf("gm-%s-%08x-%d", runID, h.Sum32(), a.Number)
}

// isolated runs a scenario between the making and the removal of its
// namespace, and watches the implementation's pods meanwhile.
func (e *Executor) isolated(ctx context.Context, t *scenario.Trial, a Attempt) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace}}
	kube.Own(ns, t.RunID, a.ID())
	// A lost runner may have left the namespace of this very attempt.
	if err := e.remove(ctx, ns); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("remove leftovers: %w", err)}
	}
	if err := e.Kube.Create(ctx, ns); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("create namespace: %w", err)}
	}
	err := e.observed(ctx, t, a)
	t.Progress("removing its objects")
	// What stays behind would be in the next trial's way: say so.
	if gone := e.remove(ctx, ns); gone != nil {
		err = errors.Join(err, scenario.Invalid{Reason: fmt.Errorf("clean up: %w", gone)})
	}
	return err
}

// observed runs a scenario while the implementation's pods are watched.
func (e *Executor) observed(ctx context.Context, t *scenario.Trial, a Attempt) error {
	s := scenario.Find(a.Ref.Scenario)
	if s == nil {
		return scenario.Invalid{Reason: fmt.Errorf("there is no scenario %s", a.Ref.Scenario)}
	}
	watch, err := e.watchIncidents(ctx, t)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	err = guard(func() error {
		t.Begin()
		return s.Run(ctx, t)
	})
	e.reportIncidents(watch, t)
	if t.Result.Outcome, _ = scenario.Outcome(err); t.Result.Outcome == result.Failed {
		failed(t, err)
	}
	e.takeEvidence(ctx, t)
	return err
}

func (e *Executor) remove(ctx context.Context, ns *corev1.Namespace) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupLimit)
	defer cancel()
	err := e.Kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name}})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return kube.WaitGone[corev1.Namespace](ctx, e.Kube, client.ObjectKeyFromObject(ns))
}
