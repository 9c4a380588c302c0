package run

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
)

// cleanupLimit bounds how long a trial's objects may take to go. Some proxies are
// given five minutes to drain, and a kubelet that waits for a pod's hook already
// does not hear that it is to be sooner.
const cleanupLimit = 7 * time.Minute

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
	var all corev1.NamespaceList
	if err := e.Kube.List(ctx, &all, client.MatchingLabels(kube.OwnedBy(t.RunID, a.ID()))); err != nil {
		return err
	}
	names := []string{t.Namespace}
	for _, ns := range all.Items {
		if ns.Name != t.Namespace {
			names = append(names, ns.Name)
		}
	}
	return e.remove(ctx, t, names)
}

// observed runs a scenario while the implementation's pods are watched.
func (e *Executor) observed(ctx context.Context, t *scenario.Trial, a Attempt) error {
	s := e.scenario(a.Ref.Scenario)
	if s == nil {
		return scenario.Invalid{Reason: fmt.Errorf("there is no scenario %s", a.Ref.Scenario)}
	}
	if err := t.Target.Speaks(s); err != nil {
		return err
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
	names := map[string][]string{} // by attempt
	for _, ns := range left.Items {
		id := ns.Labels[kube.TrialLabel]
		names[id] = append(names[id], ns.Name)
	}
	for id, of := range names {
		a, ok := FindAttempt(e.Config.Schedule, id)
		if !ok {
			continue
		}
		t := &scenario.Trial{
			Target: e.Config.Targets[a.Ref.Implementation], Isolation: e.Config.Plan.Isolation, Others: e.Config.others(a.Ref.Implementation),
			Progress: func(string, ...any) {},
		}
		if err := e.remove(ctx, t, of); err != nil {
			return err
		}
	}
	return nil
}

// namespaceEnds is how many namespaces are told to end at once.
const namespaceEnds = 16

// remove deletes namespaces of a trial, all at once, and returns when they are
// gone and every pod of their Gateways' data planes is ending. A proxy may drain
// on for a while: nothing is sent to it, and the next trial needs longer to be
// set up.
func (e *Executor) remove(ctx context.Context, t *scenario.Trial, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupLimit)
	defer cancel()
	err := kube.Parallel(ctx, len(names), namespaceEnds, nil, func(ctx context.Context, i int) error {
		return client.IgnoreNotFound(e.Kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}))
	})
	if err != nil {
		return fmt.Errorf("delete namespaces: %w", err)
	}
	for {
		var left []string
		var last error // why one is left
		for _, name := range names {
			err := e.ended(ctx, t, name)
			if errors.Is(err, errNotEnded) {
				left, last = append(left, name), err
			} else if err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return nil
		}
		if len(names) > 1 {
			t.Progress("removing its objects: %d of %d namespaces left", len(left), len(names))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d namespaces are left after %s: %w", len(left), len(names), cleanupLimit, last)
		case <-time.After(250 * time.Millisecond * time.Duration(1+len(left)/10)):
		}
		names = left
	}
}

var errNotEnded = errors.New("it is not gone")

// ended reports whether a namespace is gone, and with it all of the data plane
// of its Gateway, whose end it hastens.
func (e *Executor) ended(ctx context.Context, t *scenario.Trial, name string) error {
	planes, err := dataPlanes(t, name)
	if err != nil {
		return err
	}
	left, err := e.hasten(ctx, name, planes)
	if err != nil {
		return err
	}
	var ns corev1.Namespace
	err = e.Kube.Get(ctx, client.ObjectKey{Name: name}, &ns)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil || left > 0:
		return fmt.Errorf("namespace %s is %s and %d pods of its data plane are left: %w", name, ns.Status.Phase, left, errNotEnded)
	}
	return nil
}

// dataPlanes select the pods that end with the Gateways of one of a trial's
// namespaces: its own one's, and where others have one too, theirs. A data plane
// that serves all Gateways stays.
func dataPlanes(t *scenario.Trial, namespace string) ([]scenario.Selector, error) {
	var all []scenario.Selector
	add := func(plane scenario.Selector, gateway string) error {
		if !plane.PerGateway() {
			return nil
		}
		of, err := plane.For(namespace, gateway)
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
