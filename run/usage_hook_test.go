package run

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/measure/usage"
	"github.com/gatemark/gatemark/measure/usage/cgroup"
	"github.com/gatemark/gatemark/measure/usage/reading"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/scenario"
)

// startSampler is a node's sampler at a pod's address. The node uses a second of
// CPU time in each second, and the pod with that UID half of it.
func startSampler(t *testing.T, ip, uid string) {
	t.Helper()
	start := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+reading.ReadingsPath, func(w http.ResponseWriter, r *http.Request) {
		since, err := strconv.Atoi(r.FormValue("since"))
		if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		now := time.Now()
		a := reading.Answer{Instance: "i", Interval: int64(time.Second), Now: now.UnixNano(), First: since, Groups: []reading.Group{
			{Kind: reading.Node, Path: "/"}, {Kind: reading.Pod, Path: "/kubepods/pod" + uid, Pod: uid},
		}}
		for group := range a.Groups {
			spent := int64(time.Hour) + int64(now.Sub(start))/int64(group+1)
			a.Readings = append(a.Readings, reading.Reading{Group: group, At: now.UnixNano(), Counters: cgroup.Counters{CPU: spent, WorkingSet: 1000 >> group}})
		}
		_ = json.NewEncoder(w).Encode(a)
	})
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(reading.Port)))
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
}

// TestATrialTellsWhatWasUsed from the beginning of its measurement to its end.
func TestATrialTellsWhatWasUsed(t *testing.T) {
	const ip = "127.0.9.1"
	startSampler(t, ip, "u-control")
	l := startLab(t, "b01-a")
	l.Token = "secret"
	l.Config.Namespace = "gatemark-r"
	l.Config.Plan.Observe = plan.Observe{Usage: "1s", Metrics: plan.Off}
	pod := func(namespace, name, app string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: "n1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	}
	control, sampler := pod("system", "control", "control"), pod("gatemark-r", "sampler-1", usage.SamplerName)
	control.UID, sampler.UID = "u-control", "u-sampler"
	l.server.Put(t, control)
	l.server.Put(t, sampler)
	var measured time.Duration
	l.act = func(_ context.Context, trial *scenario.Trial) error {
		time.Sleep(30 * time.Millisecond) // the stage is set
		trial.Begin()
		began := time.Now()
		time.Sleep(200 * time.Millisecond)
		measured = time.Since(began)
		return nil
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	trial, err := l.Dir.ReadTrial("b01-a")
	if err != nil {
		t.Fatal(err)
	}
	if len(trial.Gates) == 0 || trial.Gates[0].Name != "resource-samples" || !trial.Gates[0].OK {
		t.Errorf("outcome %s %s, gates %+v", trial.Outcome, trial.Reason, trial.Gates)
	}
	for name, want := range map[string]float64{"cpu-control-plane": measured.Seconds() / 2, "cpu-rest": measured.Seconds() / 2, "memory-end-control-plane": 500, "memory-end-rest": 500} {
		m, ok := trial.Metrics[name]
		// The window is longer than what was slept through, and on a busy machine
		// the sampler's clock is known to some milliseconds only.
		if !ok || *m.Value < 0.5*want || name[:3] != "cpu" && *m.Value != want {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	if trial.Metrics["cpu-control-plane"].Value != nil && trial.Metrics["cpu-rest"].Value != nil {
		control, rest := *trial.Metrics["cpu-control-plane"].Value, *trial.Metrics["cpu-rest"].Value
		if ratio := control / rest; ratio < 0.9 || ratio > 1.1 {
			t.Errorf("the control plane used %v, the rest %v", control, rest)
		}
	}
}
