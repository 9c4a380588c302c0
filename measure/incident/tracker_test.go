package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A version of a pod with one container, changed step by step.
func pod(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "proxy", UID: "u1", Labels: map[string]string{"app": "proxy"}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, NodeName: "n1", Containers: []corev1.Container{{Name: "envoy"}}},
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "envoy", State: running()}}
	ready(true)(p)
	for _, change := range changes {
		change(p)
	}
	return p
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func ready(is bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		status := corev1.ConditionFalse
		if is {
			status = corev1.ConditionTrue
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	}
}

func end(id, reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: id, Reason: reason, ExitCode: code}}
}

// ended: the container is down and was not restarted yet.
func ended(id, reason string, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = end(id, reason, code)
		ready(false)(p)
	}
}

// restarted: it runs again, and what ended last is this.
func restarted(count int32, id, reason string, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Status.ContainerStatuses[0]
		c.RestartCount, c.State, c.LastTerminationState = count, running(), end(id, reason, code)
	}
}

func deleting(p *corev1.Pod) {
	at := metav1.NewTime(start)
	p.DeletionTimestamp = &at
}

func named(name string, uid types.UID) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Name, p.UID = name, uid }
}

func TestTracker(t *testing.T) {
	cases := []struct {
		name     string
		versions []*corev1.Pod // the first is what was there at the start
		want     []string
	}{
		{"nothing happens", []*corev1.Pod{pod(), pod(), pod()}, nil},
		{"restarts of the past are the past's", []*corev1.Pod{pod(restarted(5, "a", "Error", 1)), pod(restarted(5, "a", "Error", 1))}, nil},
		{"an OOM kill, seen before and after the restart, is one",
			[]*corev1.Pod{pod(), pod(ended("a", "OOMKilled", 137)), pod(restarted(1, "a", "OOMKilled", 137))},
			[]string{"oom-kill: pod infra/proxy container envoy was OOM-killed"}},
		{"a crash, seen only after the restart", []*corev1.Pod{pod(), pod(restarted(1, "a", "Error", 139))},
			[]string{"crash: pod infra/proxy container envoy crashed (exit code 139)"}},
		{"several crashes between two versions", []*corev1.Pod{pod(restarted(2, "a", "Error", 1)), pod(restarted(5, "b", "Error", 1))},
			[]string{"crash: pod infra/proxy container envoy crashed 3 times (exit code 1)"}},
		{"crash, restart, crash", []*corev1.Pod{pod(), pod(ended("a", "Error", 1)), pod(restarted(1, "a", "Error", 1)),
			pod(restarted(1, "a", "Error", 1), ended("b", "Error", 2)), pod(restarted(2, "b", "Error", 2))},
			[]string{"crash: pod infra/proxy container envoy crashed (exit code 1)", "crash: pod infra/proxy container envoy crashed (exit code 2)"}},
		{"an end with exit code 0", []*corev1.Pod{pod(), pod(restarted(1, "a", "Completed", 0))},
			[]string{"restart: pod infra/proxy container envoy ended with exit code 0 and was restarted"}},
		{"a pod that is told to end", []*corev1.Pod{pod(), pod(deleting), pod(deleting, ended("a", "Error", 143))}, nil},
		{"an OOM kill while it ends", []*corev1.Pod{pod(), pod(deleting, ended("a", "OOMKilled", 137))},
			[]string{"oom-kill: pod infra/proxy container envoy was OOM-killed"}},
		{"not ready and ready again", []*corev1.Pod{pod(), pod(ready(false)), pod(ready(false)), pod()},
			[]string{"not-ready: pod infra/proxy was not ready for 2s"}},
		{"not ready for ever", []*corev1.Pod{pod(), pod(ready(false))},
			[]string{"not-ready: pod infra/proxy stopped being ready, and did not become it again"}},
		{"not ready while it is told to end", []*corev1.Pod{pod(), pod(deleting, ready(false))}, nil},
		{"never ready yet", []*corev1.Pod{pod(ready(false)), pod(ready(false)), pod()}, nil},
		{"evicted", []*corev1.Pod{pod(), pod(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "low on memory"
			ended("a", "Error", 137)(p)
			deleting(p)
		})}, []string{"eviction: pod infra/proxy was evicted (Evicted: low on memory)"}},
		{"a job that is done", []*corev1.Pod{pod(func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }),
			pod(func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, ended("a", "Completed", 0))}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tracker := newTracker(nil)
			for i, version := range c.versions {
				tracker.observe(DataPlane, version, start.Add(time.Duration(i)*time.Second), i == 0)
			}
			var got []string
			for _, i := range tracker.incidents {
				got = append(got, string(i.Kind)+": "+i.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatComeLater(t *testing.T) {
	tracker := newTracker(nil)
	tracker.observe(DataPlane, pod(named("late", "u2"), restarted(1, "a", "Error", 1)), start, false)
	if len(tracker.incidents) != 1 {
		t.Errorf("a new pod that had crashed already: %+v", tracker.incidents)
	}
}

// What happens between two trials is told once, as such.
func TestBetweenTrials(t *testing.T) {
	first := newTracker(nil)
	first.observe(DataPlane, pod(), start, true)
	first.observe(DataPlane, pod(restarted(1, "a", "Error", 1)), start, false)
	since := first.baseline()

	second := newTracker(since)
	second.observe(DataPlane, pod(restarted(3, "c", "OOMKilled", 137)), start, true)
	second.observe(DataPlane, pod(named("new", "u2"), restarted(1, "x", "Error", 1)), start, true)
	if len(second.incidents) != 2 || !second.incidents[0].Before || second.incidents[0].Times != 2 || second.incidents[0].Kind != OOMKill || !second.incidents[1].Before {
		t.Errorf("got %+v", second.incidents)
	}
	third := newTracker(second.baseline())
	third.observe(DataPlane, pod(restarted(3, "c", "OOMKilled", 137)), start, true)
	if len(third.incidents) != 0 {
		t.Errorf("told twice: %+v", third.incidents)
	}
	if strings.Contains(second.incidents[0].String(), "3 times") {
		t.Error("counted twice")
	}
}
