package usage

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/kube/fakeapi"
)

// stats is what a kubelet answers, seconds after an instant.
func stats(start time.Time, seconds int) string {
	at := start.Add(time.Duration(seconds) * time.Second).UTC().Format(time.RFC3339)
	cpu := func(ms int) string {
		return fmt.Sprintf(`"cpu": {"time": %q, "usageNanoCores": 5, "usageCoreNanoSeconds": %d}`, at, ms*1e6)
	}
	return `{"node": {"nodeName": "n1", ` + cpu(1000+100*seconds) + `, "memory": {"time": "` + at + `", "usageBytes": 900, "workingSetBytes": 800, "rssBytes": 700},
 "systemContainers": [{"name": "kubelet", ` + cpu(10*seconds) + `, "memory": {"workingSetBytes": 30}}, {"name": "pods", ` + cpu(5000) + `}]},
 "pods": [{"podRef": {"name": "proxy", "namespace": "infra", "uid": "uid-proxy"}, ` + cpu(50*seconds) + `,
  "memory": {"workingSetBytes": ` + fmt.Sprint(100+seconds) + `}, "network": {"time": "` + at + `", "rxBytes": ` + fmt.Sprint(seconds*10) + `, "txBytes": ` + fmt.Sprint(seconds*20) + `}, "containers": []},
  {"podRef": {"uid": "new"}}]}`
}

// TestKubelets: where there are no samplers.
func TestKubelets(t *testing.T) {
	// Kubelets stamp whole seconds.
	start := time.Now().Truncate(time.Second)
	seconds := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/proxy/stats/summary" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(stats(start, seconds)))
	}))
	defer web.Close()
	core := corev1.SchemeGroupVersion
	api := fakeapi.Start(t, fakeapi.Resource{GroupVersionKind: core.WithKind("Pod"), Name: "pods", Namespaced: true},
		fakeapi.Resource{GroupVersionKind: core.WithKind("Node"), Name: "nodes"})
	api.Put(t, podOf("infra", "proxy", "proxy", nil))
	api.Put(t, &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	c, err := kube.New(t.Context(), api.Config())
	if err != nil {
		t.Fatal(err)
	}
	if c.Clientset, err = kubernetes.NewForConfig(&rest.Config{Host: web.URL}); err != nil {
		t.Fatal(err)
	}
	ob, err := Start(t.Context(), Options{Kube: c, Kubelets: true, Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer ob.Close()
	for _, seconds = range []int{10, 10, 20, 40} { // one is asked for twice before the kubelet reads again
		if err := ob.Edge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w := ob.Window(start.Add(10*time.Second), start.Add(30*time.Second), func(m Member) string {
		if m.Name == "kubelet" {
			return "kubernetes"
		}
		return roles(m)
	})
	data := w.Uses["data-plane"]
	for what, pair := range map[string][2]float64{
		"CPU": {data.CPU, 1}, "in": {data.In, 200}, "out": {data.Out, 400}, "begin": {data.Begin, 110}, "end": {data.End, 120},
		"throttled": {data.Throttled, math.NaN()}, "CPU of the kubelet": {w.Uses["kubernetes"].CPU, 0.2}, "CPU of the rest": {w.Uses[Rest].CPU, 2 - 1.2},
	} {
		if got, want := pair[0], pair[1]; math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if w.Interval != KubeletInterval || w.Gap != 10*time.Second {
		t.Errorf("interval %v, gap %v", w.Interval, w.Gap)
	}
}
