package incident

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A tracker turns versions of pods into incidents. It knows no cluster.
type tracker struct {
	// since is the end of the trial before; nil where counting starts now.
	since *Baseline
	pods  map[types.UID]podState
	// unready holds where an open not-ready incident stands in incidents.
	unready   map[types.UID]int
	incidents []Incident
}

func newTracker(since *Baseline) *tracker {
	return &tracker{since: since, pods: map[types.UID]podState{}, unready: map[types.UID]int{}}
}

// observe takes a version of a pod and returns the indexes of the incidents
// that it brought. listed says that the pod was like this when watching began.
func (t *tracker) observe(role Role, pod *corev1.Pod, at time.Time, listed bool) []int {
	state, known := t.pods[pod.UID]
	before := false
	if !known {
		state = newState()
		if listed {
			if t.since == nil {
				t.pods[pod.UID] = stateOf(pod)
				return nil
			}
			before = true
			if earlier, ok := t.since.pods[pod.UID]; ok {
				state = earlier.clone()
			}
		}
	}
	first := len(t.incidents)
	add := func(i Incident) {
		i.Role, i.Pod, i.Node, i.At, i.Before = role, pod.Namespace+"/"+pod.Name, pod.Spec.NodeName, at, before
		t.incidents = append(t.incidents, i)
	}
	ended := false
	for _, c := range containers(pod) {
		ended = t.container(pod, c, &state, add) || ended
	}
	if reason, message, evicted := eviction(pod); evicted && !state.evicted {
		state.evicted = true
		add(Incident{Kind: Eviction, Times: 1, Reason: reason, Message: message})
	}
	t.readiness(pod, &state, at, ended, add)
	t.pods[pod.UID] = state
	var fresh []int
	for i := first; i < len(t.incidents); i++ {
		fresh = append(fresh, i)
	}
	return fresh
}

// container tells the ends of one container that were not told yet. It reports
// whether it is not running now.
func (t *tracker) container(pod *corev1.Pod, c corev1.ContainerStatus, state *podState, add func(Incident)) bool {
	restarts := c.RestartCount - state.restarts[c.Name]
	if now := c.State.Terminated; now != nil && restarts == 0 && t.untimely(pod, c, now) && !state.ended[now.ContainerID] {
		state.ended[now.ContainerID] = true
		add(ending(c.Name, now, 1))
	}
	if last := c.LastTerminationState.Terminated; restarts > 0 && last != nil && state.ended[last.ContainerID] {
		restarts-- // its end was seen before the restart
	}
	if restarts > 0 {
		last := c.LastTerminationState.Terminated
		if last != nil {
			state.ended[last.ContainerID] = true
		}
		add(ending(c.Name, last, int(restarts)))
	}
	state.restarts[c.Name] = c.RestartCount
	return c.State.Running == nil
}

// untimely reports whether a container that ended should have gone on.
func (t *tracker) untimely(pod *corev1.Pod, c corev1.ContainerStatus, end *corev1.ContainerStateTerminated) bool {
	if end.Reason == "OOMKilled" {
		return true
	}
	if pod.DeletionTimestamp != nil { // it was told to end
		return false
	}
	return end.ExitCode != 0 || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways && !isInit(pod, c.Name)
}

func ending(container string, end *corev1.ContainerStateTerminated, times int) Incident {
	i := Incident{Kind: Crash, Container: container, Times: times}
	if end == nil {
		return i
	}
	i.ExitCode, i.Signal, i.Reason, i.Message = end.ExitCode, end.Signal, end.Reason, end.Message
	switch {
	case end.Reason == "OOMKilled":
		i.Kind = OOMKill
	case end.ExitCode == 0 && end.Signal == 0:
		i.Kind = Restart
	}
	return i
}

// readiness tells a pod that stops being ready while all of its containers
// run: otherwise the container's end is the incident.
func (t *tracker) readiness(pod *corev1.Pod, state *podState, at time.Time, ended bool, add func(Incident)) {
	ready := isReady(pod)
	open, isOpen := t.unready[pod.UID]
	switch {
	case isOpen && (ready || pod.DeletionTimestamp != nil):
		t.incidents[open].Lasted = at.Sub(t.incidents[open].At)
		delete(t.unready, pod.UID)
	case !isOpen && state.ready && !ready && !ended && !state.evicted && pod.DeletionTimestamp == nil:
		t.unready[pod.UID] = len(t.incidents)
		add(Incident{Kind: NotReady, Times: 1})
	}
	state.ready = ready
}

// forget closes what is open of a pod that is gone.
func (t *tracker) forget(pod *corev1.Pod, at time.Time) {
	if open, ok := t.unready[pod.UID]; ok {
		t.incidents[open].Lasted = at.Sub(t.incidents[open].At)
		delete(t.unready, pod.UID)
	}
	delete(t.pods, pod.UID)
}

func (t *tracker) baseline() *Baseline {
	b := &Baseline{pods: make(map[types.UID]podState, len(t.pods))}
	for uid, s := range t.pods {
		b.pods[uid] = s.clone()
	}
	return b
}

func stateOf(pod *corev1.Pod) podState {
	state := newState()
	for _, c := range containers(pod) {
		state.restarts[c.Name] = c.RestartCount
		for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			if s.Terminated != nil {
				state.ended[s.Terminated.ContainerID] = true
			}
		}
	}
	_, _, state.evicted = eviction(pod)
	state.ready = isReady(pod)
	return state
}

func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	all := append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...)
	return append(all, pod.Status.ContainerStatuses...)
}

func isInit(pod *corev1.Pod, container string) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == container {
			return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func eviction(pod *corev1.Pod) (reason, message string, evicted bool) {
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		return pod.Status.Reason, pod.Status.Message, true
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c.Reason, c.Message, true
		}
	}
	return "", "", false
}
