package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
	"github.com/gatemark/gatemark/result"
)

func startFake(t *testing.T) (*fakeapi.Server, *kube.Client) {
	t.Helper()
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Name: "events", Namespaced: true},
	)
	c, err := kube.New(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func watchPods(t *testing.T, c *kube.Client, since *Baseline) *Watcher {
	t.Helper()
	w, err := Start(t.Context(), c, Options{Since: since, Selections: []Selection{
		{DataPlane, "infra", "app=proxy"},
		{ControlPlane, "infra", "app in (control, proxy)"}, // overlaps: the first one counts
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func until(t *testing.T, w *Watcher, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(w.Incidents()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d incidents: %+v", len(w.Incidents()), n, w.Incidents())
		}
	}
}

func control(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := pod(append([]func(*corev1.Pod){named("controller", "u2")}, changes...)...)
	p.Labels = map[string]string{"app": "control"}
	return p
}

func TestFindings(t *testing.T) {
	server, c := startFake(t)
	server.Put(t, pod(restarted(7, "z", "Error", 1)))
	server.Put(t, control())
	server.SetLog("infra", "proxy", true, "line one\nout of memory\n")
	server.SetLog("infra", "controller", false, "panic: nil map\n")
	server.Put(t, &corev1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "proxy"}, Type: "Warning", Reason: "BackOff", Message: "restarting failed container",
		LastTimestamp: metav1.NewTime(start),
	})
	w := watchPods(t, c, nil)
	server.Put(t, pod(restarted(8, "a", "OOMKilled", 137)))
	server.Put(t, control(ended("b", "Error", 2)))
	until(t, w, 2)
	report := w.Stop(5 * time.Second)
	findings, attachments := report.Findings(time.Now())
	if len(findings) != 2 {
		t.Fatalf("findings %+v", findings)
	}
	byID := map[string]result.Finding{}
	for _, f := range findings {
		byID[f.ID] = f
	}
	oom, crash := byID["pods/data-plane-oom-kill"], byID["pods/control-plane-crash"]
	if oom.Severity != result.Broken || !strings.Contains(oom.Text, "data plane: pod infra/proxy container envoy was OOM-killed") {
		t.Errorf("finding %+v", oom)
	}
	var evidence []string
	for _, e := range oom.Evidence {
		evidence = append(evidence, e.Name+" "+e.File+": "+e.Text)
	}
	want := []string{
		"event : 2026-03-01T12:00:00Z Warning BackOff: restarting failed container",
		"pod log incident/infra-proxy-data-plane-oom-kill-1.log: line one\nout of memory",
	}
	if diff := cmp.Diff(want, evidence[1:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(attachments["incident/infra-proxy-data-plane-oom-kill-1.log"]) != "line one\nout of memory\n" {
		t.Errorf("attachments %q", attachments)
	}
	if crash.Severity != result.Broken || !strings.Contains(crash.Evidence[len(crash.Evidence)-1].Text, "panic: nil map") {
		t.Errorf("the log of a container that is down: %+v", crash)
	}
	for _, gate := range report.Gates() {
		if !gate.OK {
			t.Errorf("gate %+v", gate)
		}
	}
}

func TestExpect(t *testing.T) {
	server, c := startFake(t)
	server.Put(t, pod())
	w := watchPods(t, c, nil)
	done := w.Expect(DataPlane, "the scenario kills it")
	server.Put(t, pod(restarted(1, "a", "Error", 137)))
	until(t, w, 1)
	server.Put(t, pod(restarted(2, "b", "OOMKilled", 137)))
	until(t, w, 2)
	done()
	server.Put(t, pod(restarted(3, "c", "Error", 1)))
	until(t, w, 3)
	findings, _ := w.Stop(5 * time.Second).Findings(time.Now())
	got := map[string]result.Severity{}
	for _, f := range findings {
		got[f.ID] = f.Severity
	}
	want := map[string]result.Severity{
		"pods/data-plane-crash-on-purpose": result.Info,
		"pods/data-plane-oom-kill":         result.Broken,
		"pods/data-plane-crash":            result.Broken,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsLostOverAnInterruption(t *testing.T) {
	server, c := startFake(t)
	server.Put(t, pod())
	w := watchPods(t, c, nil)
	server.Refuse(true)
	server.CutWatches()
	server.Put(t, pod(restarted(1, "a", "Error", 1)))
	server.Put(t, pod(restarted(2, "b", "Error", 1)))
	server.Delete("pods", "infra", "proxy")
	server.Refuse(false)
	until(t, w, 2)
	first := w.Stop(5 * time.Second)
	if n := len(first.Incidents); n != 2 {
		t.Errorf("%d incidents", n)
	}
	server.Put(t, control(restarted(1, "x", "Error", 1)))
	w = watchPods(t, c, first.Baseline)
	second := w.Stop(5 * time.Second)
	if len(second.Incidents) != 1 || !second.Incidents[0].Before {
		t.Errorf("between the trials: %+v", second.Incidents)
	}
}
