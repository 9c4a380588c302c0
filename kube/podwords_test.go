package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsOwnWords(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	containers := func(states ...corev1.ContainerState) corev1.PodStatus {
		status := corev1.PodStatus{Phase: corev1.PodRunning}
		for _, s := range states {
			status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: "c", State: s, Ready: s.Running != nil})
		}
		return status
	}
	crashed := containers(waiting("CrashLoopBackOff", "back-off 10s"))
	crashed.ContainerStatuses[0].LastTerminationState = ended(2, "Error")
	unready := containers(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	unready.ContainerStatuses[0].Ready = false
	initial := corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(1, "Error")}}}
	for _, c := range []struct {
		name   string
		status corev1.PodStatus
		want   string
	}{
		{"healthy", containers(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), ""},
		{"done", containers(ended(0, "Completed")), ""},
		{"no image", containers(waiting("ImagePullBackOff", `Back-off pulling image "a:b"`)), `container c: ImagePullBackOff: Back-off pulling image "a:b"`},
		{"just starting", containers(waiting("ContainerCreating", "")), ""},
		{"crashing", crashed, "container c: CrashLoopBackOff: back-off 10s; it last ended with code 2, Error"},
		{"failed", containers(ended(3, "OOMKilled")), "container c: ended with code 3, OOMKilled"},
		{"an init container failed", initial, "container i: ended with code 1, Error"},
		{"not ready", unready, "container c: running, not ready"},
		{"no node", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"},
		}}, "Unschedulable: 0/1 nodes are available"},
		{"no scheduler", corev1.PodStatus{Phase: corev1.PodPending}, "Pending"},
	} {
		got, over := podWord(&corev1.Pod{Status: c.status})
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		// Those that ended have a log to quote.
		if want := strings.Contains(c.want, "ended"); want != (over != "") {
			t.Errorf("%s: the container that ended is %q", c.name, over)
		}
	}
}
