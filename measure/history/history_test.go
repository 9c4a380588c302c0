package history

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

var routeKind = gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute")

func startFake(t testing.TB) (*fakeapi.Server, *kube.Client) {
	t.Helper()
	server := fakeapi.Start(t,
		fakeapi.Resource{GroupVersionKind: routeKind, Name: "httproutes", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: "pods", Namespaced: true},
	)
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mapped := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(server.Mapper()).Build()
	return server, &kube.Client{WithWatch: mapped.(client.WithWatch), Config: server.Config()}
}

func route(name string, parents int) *gatewayv1.HTTPRoute {
	r := &gatewayv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "HTTPRoute", APIVersion: gatewayv1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{"app": name}},
	}
	for i := range parents {
		r.Status.Parents = append(r.Status.Parents, gatewayv1.RouteParentStatus{ControllerName: gatewayv1.GatewayController(fmt.Sprint("example.com/", i))})
	}
	return r
}

// A log collects what was recorded, in words.
type log struct {
	mu    sync.Mutex
	lines []string
	ats   []time.Time
}

func (l *log) record(e Event[gatewayv1.HTTPRoute]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%s %s %d", e.Type, e.Object.Name, len(e.Object.Status.Parents))
	if e.Listed {
		line += " listed"
	}
	l.lines = append(l.lines, line)
	l.ats = append(l.ats, e.At)
}

func (l *log) wait(t *testing.T, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		lines := append([]string(nil), l.lines...)
		l.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d events: %q", len(lines), n, lines)
		}
	}
}

func TestEveryVersionInOrder(t *testing.T) {
	server, c := startFake(t)
	server.Put(t, route("before", 0))
	var seen log
	w, err := Start(t.Context(), c, routeKind, Options{Namespace: "a"}, seen.record)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	want := []string{"ADDED before 0 listed"}
	for i := range 50 {
		server.Put(t, route("r", i))
		want = append(want, fmt.Sprintf("MODIFIED r %d", i))
	}
	want[1] = "ADDED r 0"
	server.Delete("httproutes", "a", "r")
	want = append(want, "DELETED r 49")
	got := seen.wait(t, len(want))
	report := w.Stop()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if report.Events != 51 || len(report.Losses) != 0 || len(report.Gaps) != 0 || report.Bytes == 0 {
		t.Errorf("report %+v", report)
	}
	last := began
	for i, at := range seen.ats[1:] {
		if at.Before(last) {
			t.Fatalf("event %d arrived before the one ahead of it", i+1)
		}
		last = at
	}
	for _, gate := range report.Gates(time.Second) {
		if !gate.OK {
			t.Errorf("gate %+v", gate)
		}
	}
}

func TestInterruptionLosesNothing(t *testing.T) {
	server, c := startFake(t)
	var seen log
	w, err := Start(t.Context(), c, routeKind, Options{}, seen.record)
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	var want []string
	for i := range n {
		switch i {
		case 10:
			server.CutWatches()
		case 20:
			server.Refuse(true)
			server.CutWatches()
		case 30:
			server.Refuse(false)
		}
		server.Put(t, route("r", i))
		want = append(want, fmt.Sprintf("MODIFIED r %d", i))
	}
	want[0] = "ADDED r 0"
	got := seen.wait(t, n)
	report := w.Stop()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(report.Losses) != 0 || len(report.Gaps) == 0 {
		t.Errorf("losses %v, gaps %v", report.Losses, report.Gaps)
	}
	if gates := report.Gates(0); !gates[0].OK || gates[1].OK {
		t.Errorf("gates %+v", gates)
	}
}

func TestExpiredVersionIsALoss(t *testing.T) {
	server, c := startFake(t)
	var seen log
	w, err := Start(t.Context(), c, routeKind, Options{}, seen.record)
	if err != nil {
		t.Fatal(err)
	}
	server.Put(t, route("r", 1))
	seen.wait(t, 1)
	server.Refuse(true)
	server.CutWatches()
	server.Put(t, route("r", 2))
	server.Put(t, route("r", 3))
	server.Expire()
	server.Refuse(false)
	seen.wait(t, 2)
	server.Put(t, route("r", 4))
	got := seen.wait(t, 3)
	report := w.Stop()
	want := []string{"ADDED r 1", "ADDED r 3 listed", "MODIFIED r 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(report.Losses) != 1 {
		t.Errorf("losses %+v", report.Losses)
	}
	if gates := report.Gates(time.Hour); gates[0].OK {
		t.Error("a trial with a loss is held to be evidence")
	}
}

func TestSelectorAndPartialDecoding(t *testing.T) {
	type parents struct {
		Partial
		Status struct {
			Parents []struct {
				ControllerName string `json:"controllerName"`
			} `json:"parents"`
		} `json:"status"`
	}
	server, c := startFake(t)
	got := make(chan Event[parents], 10)
	w, err := Start(t.Context(), c, routeKind, Options{LabelSelector: "app=x"}, func(e Event[parents]) { got <- e })
	if err != nil {
		t.Fatal(err)
	}
	server.Put(t, route("y", 1))
	version := server.Put(t, route("x", 2))
	e := <-got
	if e.Object.GetName() != "x" || e.Object.GetNamespace() != "a" || e.Object.GetResourceVersion() != version ||
		len(e.Object.Status.Parents) != 2 || e.Object.Status.Parents[1].ControllerName != "example.com/1" {
		t.Errorf("got %+v", e.Object)
	}
	if report := w.Stop(); report.Events != 1 || report.Version != version {
		t.Errorf("report %+v", report)
	}
}

func TestPodsDecode(t *testing.T) {
	server, c := startFake(t)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
	started := metav1.NewTime(time.Unix(1e9, 0))
	pod.Status.StartTime = &started
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", RestartCount: 2,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: started}},
	}}
	got := make(chan *corev1.Pod, 1)
	server.Put(t, pod)
	w, err := Start(t.Context(), c, corev1.SchemeGroupVersion.WithKind("Pod"), Options{}, func(e Event[corev1.Pod]) { got <- e.Object })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if diff := cmp.Diff(pod.Status, (<-got).Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCut(t *testing.T) {
	cases := []struct{ line, kind, object string }{
		{`{"type":"ADDED","object":{"a":{}}}` + "\n", "ADDED", `{"a":{}}`},
		{`{"object":{"a":{}},"type":"DELETED"}` + "\n", "DELETED", `{"a":{}}`},
		{`{ "type": "MODIFIED", "object": {"a":{}} }` + "\r\n", "MODIFIED", `{"a":{}}`},
	}
	for _, c := range cases {
		kind, object, err := cut([]byte(c.line))
		if err != nil || string(kind) != c.kind || string(object) != c.object {
			t.Errorf("cut(%q) = %q, %q, %v", c.line, kind, object, err)
		}
	}
	if _, _, err := cut([]byte("nonsense\n")); err == nil {
		t.Error("nonsense was cut")
	}
}
