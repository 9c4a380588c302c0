package run

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
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
	if err := e.removeLeftovers(ctx); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("remove leftovers: %w", err)}
	}
	if err := e.arrange(ctx, t); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("isolate: %w", err)}
	}
	if err := e.Kube.Create(ctx, ns); err != nil {
		return scenario.Invalid{Reason: fmt.Errorf("create namespace: %w", err)}
	}
	err := e.observed(ctx, t, a)
	t.Progress("removing its objects")
	// What stays behind would be in the next trial's way: say so.
	if gone := e.removeAll(ctx, t, a); gone != nil {
		err = errors.Join(err, scenario.Invalid{Reason: fmt.Errorf("clean up: %w", gone)})
	}
	return err
}

// removeAll removes the trial's namespace, and those that its scenario made
// beside it, under the trial's label.
func (e *Executor) removeAll(ctx context.Context, t *scenario.Trial, a Attempt) error {
	if err := e.remove(ctx, t); err != nil {
		return err
	}
	var others corev1.NamespaceList
	if err := e.Kube.List(ctx, &others, client.MatchingLabels(kube.OwnedBy(t.RunID, a.ID()))); err != nil {
		return err
	}
	var problems []error
	for _, ns := range others.Items {
		problems = append(problems, e.remove(ctx, &scenario.Trial{Namespace: ns.Name, Target: t.Target}))
	}
	return errors.Join(problems...)
}

// observed runs a scenario while the implementation's pods are watched.
func (e *Executor) observed(ctx context.Context, t *scenario.Trial, a Attempt) error {
	s := e.scenario(a.Ref.Scenario)
	if s == nil {
		return scenario.Invalid{Reason: fmt.Errorf("there is no scenario %s", a.Ref.Scenario)}
	}
	use, err := e.observeUse(ctx, t)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	defer use.close()
	watch, err := e.watchIncidents(ctx, t)
	if err != nil {
		return scenario.Invalid{Reason: err}
	}
	evidence := &seizer{Executor: e, ctx: ctx, trial: t}
	t.Seize = evidence.seize
	err = guard(func() error {
		t.Begin()
		return s.Run(ctx, t)
	})
	err = errors.Join(err, guard(func() error {
		use.end(ctx)
		return nil
	}))
	e.reportIncidents(watch, t)
	if t.Result.Outcome, _ = scenario.Outcome(err); t.Result.Outcome == result.Failed {
		failed(t, err)
	}
	evidence.complete()
	if back := e.undisturbed(ctx, t); back != nil {
		err = errors.Join(err, scenario.Invalid{Reason: fmt.Errorf("isolate: %w", back)})
	}
	e.checkAlive(ctx, t)
	return err
}

// scenario returns the scenario of that name, or nil.
func (e *Executor) scenario(name string) *scenario.Scenario {
	if e.find != nil {
		return e.find(name)
	}
	return question.Find(name)
}

// removeLeftovers removes the namespaces of attempts that a lost runner did not
// end, or that could not be removed: their Gateways and routes would weigh on
// every trial to come.
func (e *Executor) removeLeftovers(ctx context.Context) error {
	var left corev1.NamespaceList
	ours := client.MatchingLabels(kube.OwnedBy(e.Config.RunID, ""))
	if err := e.Kube.List(ctx, &left, ours, client.HasLabels{kube.TrialLabel}); err != nil {
		return err
	}
	if len(left.Items) > 0 {
		if err := e.bringBack(ctx); err != nil {
			return err
		}
	}
	for _, ns := range left.Items {
		a, ok := FindAttempt(e.Config.Schedule, ns.Labels[kube.TrialLabel])
		if !ok {
			continue
		}
		t := &scenario.Trial{
			Namespace: ns.Name, Target: e.Config.Targets[a.Ref.Implementation],
			Isolation: e.Config.Plan.Isolation, Others: e.Config.others(a.Ref.Implementation),
		}
		if err := e.remove(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a trial's namespace, and returns when it is gone and every
// pod of its Gateway's data plane is ending. A proxy may drain on for a while:
// nothing is sent to it, and the next trial needs longer to be set up.
func (e *Executor) remove(ctx context.Context, t *scenario.Trial) error {
	planes, err := dataPlanes(t)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupLimit)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace}}
	if err := e.Kube.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
		return err
	}
	for {
		left, err := e.hasten(ctx, t.Namespace, planes)
		if err != nil {
			return err
		}
		err = e.Kube.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		if apierrors.IsNotFound(err) && left == 0 {
			return nil
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("namespace %s is %s and %d pods of its data plane are left after %s", ns.Name, ns.Status.Phase, left, cleanupLimit)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// dataPlanes select the pods that end with a trial's Gateways: its own one's,
// and where others have one too, theirs. A data plane that serves all Gateways
// stays.
func dataPlanes(t *scenario.Trial) ([]scenario.Selector, error) {
	var all []scenario.Selector
	add := func(plane scenario.Selector, gateway string) error {
		if !plane.PerGateway() {
			return nil
		}
		of, err := plane.For(t.Namespace, gateway)
		all = append(all, of)
		return err
	}
	if err := add(t.Target.DataPlane, scenario.GatewayName); err != nil {
		return nil, err
	}
	for _, other := range t.Others {
		if t.Isolation != joined {
			break
		}
		if err := add(other.DataPlane, scenario.RivalGateway(other.Treatment)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// hasten shortens the end of pods that are ending anyway, and counts those of
// data planes that are not.
func (e *Executor) hasten(ctx context.Context, namespace string, planes []scenario.Selector) (left int, err error) {
	var pods corev1.PodList
	if err := e.Kube.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return 0, err
	}
	all := pods.Items
	for _, plane := range planes {
		labelled, err := labels.Parse(plane.Labels)
		if err != nil {
			return 0, err
		}
		var proxies corev1.PodList
		if err := e.Kube.List(ctx, &proxies, client.InNamespace(plane.Namespace), client.MatchingLabelsSelector{Selector: labelled}); err != nil {
			return 0, err
		}
		for _, pod := range proxies.Items {
			if pod.DeletionTimestamp == nil {
				left++
			}
		}
		all = append(all, proxies.Items...)
	}
	return left, kube.Hasten(ctx, e.Kube, all)
}
