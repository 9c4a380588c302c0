package routescale

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// restarted is what a plane's restart with all routes there came to.
type restarted struct {
	plane  string // a role
	routes int
	// ready is how long it took until all its pods were ready, complete until
	// every route was right on every new replica, or, of a control plane, until a
	// change made right after the restart was in force; +Inf where it was not.
	ready, complete float64
	// replicas is how many new ones came, early what they answered wrongly to what
	// was asked after they had been given users, and until for how long.
	replicas int
	early    map[string]int
	asked    int // after they had been given users, until they were complete
	until    time.Duration
	examples []string
	// lost are the wrong answers when all was over.
	lost *sweep
}

// restartPlanes restarts both planes, one after the other.
func (s *scaling) restartPlanes(ctx context.Context) error {
	if s.Values.String("restart") == "none" || s.ceiling.is() || len(s.waited()) == 0 {
		return nil
	}
	s.enter(ctx, restarting)
	for _, p := range []struct {
		role, name, why string
		do              func(context.Context, []kube.Workload) (*restarted, error)
	}{
		{scenario.ControlPlaneRole, "control", s.notOurs(false), s.restartControl},
		{scenario.DataPlaneRole, "data", s.notOurs(true), s.restartData},
	} {
		if wanted := s.Values.String("restart"); wanted != "both" && wanted != p.name {
			continue
		}
		workloads, err := s.workloads(ctx, p.role)
		if err == nil && p.why == "" && len(workloads) == 0 {
			p.why = "no workload has its pods"
		}
		if err != nil {
			return err
		}
		if p.why != "" {
			s.Note("The %s was not restarted: %s.", words(p.role), p.why)
			continue
		}
		s.Progress("restarting the %s with %d routes", words(p.role), s.there())
		again, err := p.do(ctx, workloads)
		if errors.Is(err, errTakenBack) {
			s.Note("The %s was not restarted: %s.", words(p.role), err)
			continue
		}
		if err != nil {
			return fmt.Errorf("restart of the %s: %w", words(p.role), err)
		}
		again.plane, again.routes = p.role, s.there()
		if again.lost, err = s.sweep(ctx, "after the restart of the "+words(p.role)); err != nil {
			return err
		}
		s.again = append(s.again, again)
	}
	return nil
}

// words is how a role is called.
func words(role string) string {
	if role == scenario.ControlPlaneRole {
		return "control plane"
	}
	return "data plane"
}

// notOurs says why a plane's pods are not ours to end, or "".
func (s *scaling) notOurs(data bool) string {
	switch {
	case s.Installed:
	case !data:
		return "the run did not install the implementation: its control plane serves others too"
	case !s.Target.DataPlane.PerGateway():
		return "the run did not install the implementation, and its data plane serves others too"
	}
	return ""
}

// workloads are those of a plane.
func (s *scaling) workloads(ctx context.Context, role string) ([]kube.Workload, error) {
	var selectors []scenario.Selector
	var err error
	if role == scenario.ControlPlaneRole {
		selectors, err = s.ControlPlanes()
	} else {
		var data scenario.Selector
		data, err = s.DataPlane()
		selectors = []scenario.Selector{data}
	}
	if err != nil {
		return nil, err
	}
	var all []kube.Workload
	for _, one := range selectors {
		found, err := kube.WorkloadsOf(ctx, s.Kube, one.Namespace, one.Labels)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// restartControl restarts the control plane, and makes a change at once.
func (s *scaling) restartControl(ctx context.Context, workloads []kube.Workload) (*restarted, error) {
	out := &restarted{ready: math.Inf(1), complete: math.Inf(1)}
	began := time.Now()
	deadline := began.Add(s.Values.Duration("limit"))
	marks, err := s.restartAll(ctx, workloads)
	if err != nil {
		return nil, err
	}
	r := s.waited()[0]
	if err := s.edit(ctx, r); err != nil {
		return nil, err
	}
	at, wrong, err := s.served(ctx, []*route{r}, deadline)
	if err != nil {
		return nil, err
	}
	if len(wrong) == 0 {
		out.complete = at.Sub(began).Seconds()
	}
	for time.Now().Before(deadline) {
		ready, err := s.allReady(ctx, workloads)
		if err != nil {
			return nil, err
		}
		if ready {
			out.ready = time.Since(began).Seconds()
			break
		}
		if err := pause(ctx, findEvery); err != nil {
			return nil, err
		}
	}
	return out, s.takenBack(ctx, workloads, marks)
}

// errTakenBack: the owner of a workload put it back as it was.
var errTakenBack = errors.New("its owner took the restart back")

// restartAll restarts workloads, and returns their marks.
func (s *scaling) restartAll(ctx context.Context, workloads []kube.Workload) (marks []string, err error) {
	for _, w := range workloads {
		mark, err := w.Restart(ctx, s.Kube)
		if err != nil {
			return nil, err
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

// takenBack is errTakenBack where a restart was not left as it was.
func (s *scaling) takenBack(ctx context.Context, workloads []kube.Workload, marks []string) error {
	for i, w := range workloads {
		now, err := kube.GetWorkload(ctx, s.Kube, w.Ref())
		if err != nil {
			return fmt.Errorf("%s: %w", w.Ref(), err)
		}
		if now.RestartedAt() != marks[i] {
			return errTakenBack
		}
	}
	return nil
}

func (s *scaling) allReady(ctx context.Context, workloads []kube.Workload) (bool, error) {
	for _, w := range workloads {
		now, err := kube.GetWorkload(ctx, s.Kube, w.Ref())
		if err != nil {
			return false, fmt.Errorf("%s: %w", w.Ref(), err)
		}
		if ready, _ := now.Ready(); !ready {
			return false, nil
		}
	}
	return true, nil
}

// findEvery is how often the Gateway's Service is asked for its replicas.
const findEvery = 100 * time.Millisecond

// restartData restarts the data plane, and asks each new replica for every
// route from when it is given users.
func (s *scaling) restartData(ctx context.Context, workloads []kube.Workload) (*restarted, error) {
	old := map[string]bool{}
	for _, r := range s.stage.Replicas {
		old[r.Pod+" "+r.Address().String()] = true
	}
	began := time.Now()
	marks, err := s.restartAll(ctx, workloads)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithDeadline(ctx, began.Add(s.Values.Duration("limit")))
	defer cancel()
	fresh := map[string]*newcomer{}
	want := len(s.stage.Replicas)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for asking.Err() == nil {
		found, err := s.FindReplicas(ctx, s.port())
		if err != nil {
			return nil, err
		}
		var serving []kube.Replica
		remain := 0
		for _, r := range found {
			key := r.Pod + " " + r.Address().String()
			if !r.Serving || !r.Ready || r.Terminating {
				continue
			}
			serving = append(serving, r)
			if old[key] {
				remain++
			} else if fresh[key] == nil {
				one := &newcomer{name: r.Pod, ready: time.Now(), early: map[string]int{}}
				fresh[key] = one
				running.Go(func() { s.welcome(asking, one, r) })
			}
		}
		if len(serving) > 0 {
			s.stage.Replicas = serving
		}
		if remain == 0 && len(serving) >= want && allComplete(fresh) {
			break
		}
		if err := pause(ctx, findEvery); err != nil {
			return nil, err
		}
	}
	cancel()
	running.Wait()
	if err := s.takenBack(ctx, workloads, marks); err != nil {
		return nil, err
	}
	return summed(began, fresh, want), ctx.Err()
}

// A newcomer is a new replica, from when it is given users.
type newcomer struct {
	name  string
	ready time.Time

	mu       sync.Mutex
	complete time.Time // zero until every route is right
	asked    int
	early    map[string]int
	until    time.Time
	examples []string
}

// welcome asks a new replica for every route, until all are right.
func (s *scaling) welcome(ctx context.Context, one *newcomer, r kube.Replica) {
	asker := scenario.AskerOf(r)
	defer asker.Close()
	for pending := s.waited(); ; {
		var left []*route
		err := asker.All(ctx, s.model.expectations(pending), func(i int, _, wrong string) {
			if one.take(time.Now(), pending[i].name, wrong); wrong != "" {
				left = append(left, pending[i])
			}
		})
		if err != nil {
			return // the time is over
		}
		if len(left) == 0 {
			one.mu.Lock()
			one.complete = time.Now()
			one.mu.Unlock()
			return
		}
		if pending = left; pause(ctx, leastPause) != nil {
			return
		}
	}
}

func (one *newcomer) take(at time.Time, route, wrong string) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.asked++
	if wrong == "" {
		return
	}
	one.early[wrong]++
	one.until = at
	if len(one.examples) < scenario.ExcerptLines {
		one.examples = append(one.examples, fmt.Sprintf("%s after %s was given users, %s: %s", scenario.Seconds(at.Sub(one.ready).Seconds()), one.name, route, wrong))
	}
}

func allComplete(fresh map[string]*newcomer) bool {
	for _, one := range fresh {
		one.mu.Lock()
		complete := !one.complete.IsZero()
		one.mu.Unlock()
		if !complete {
			return false
		}
	}
	return true
}

// summed puts together what new replicas did, of which want were to come.
func summed(began time.Time, fresh map[string]*newcomer, want int) *restarted {
	out := &restarted{early: map[string]int{}, replicas: len(fresh)}
	if len(fresh) < want {
		out.ready, out.complete = math.Inf(1), math.Inf(1)
	}
	for _, key := range slices.Sorted(maps.Keys(fresh)) {
		one := fresh[key]
		out.ready = max(out.ready, one.ready.Sub(began).Seconds())
		if one.complete.IsZero() {
			out.complete = math.Inf(1)
		} else {
			out.complete = max(out.complete, one.complete.Sub(began).Seconds())
		}
		out.asked += one.asked
		for what, n := range one.early {
			out.early[what] += n
		}
		if !one.until.IsZero() {
			out.until = max(out.until, one.until.Sub(one.ready))
		}
		out.examples = append(out.examples, one.examples...)
	}
	return out
}
