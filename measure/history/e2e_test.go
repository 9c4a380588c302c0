package history_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/measure/history"
)

const (
	objects = 20
	updates = 100 // of each object
)

// A history of 2,000 status updates, as fast as 20 writers can make them, has
// every version that the API server answered, in each object's order, and the
// audit log counts the same writes.
func TestNothingIsMissed(t *testing.T) {
	c, cluster := kubetest.Start(t)
	kubetest.Namespace(t, c, "demo")
	mark, err := audit.Mark(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var mu sync.Mutex
	seen := map[string][]string{}
	arrived := map[string]time.Time{}
	w, err := history.Start(t.Context(), c, gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute"), history.Options{Namespace: "demo"},
		func(e history.Event[gatewayv1.HTTPRoute]) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Object.Name] = append(seen[e.Object.Name], e.Object.ResourceVersion)
			arrived[e.Object.ResourceVersion] = e.At
		})
	if err != nil {
		t.Fatal(err)
	}
	used := cpu(t)
	answered := updateAll(t, c)
	count := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, versions := range seen {
			n += len(versions)
		}
		return n
	}
	for deadline := time.Now().Add(30 * time.Second); count() < objects*(updates+1) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	report := w.Stop()
	took := time.Since(began)
	if len(report.Losses) > 0 {
		t.Errorf("losses %+v", report.Losses)
	}
	var late []time.Duration
	for name, versions := range answered {
		var want []string
		for _, a := range versions {
			want = append(want, a.version)
			late = append(late, arrived[a.version].Sub(a.at))
		}
		if !slices.Equal(want, seen[name]) {
			t.Errorf("%s: answered %d versions, seen %d", name, len(want), len(seen[name]))
		}
		if !slices.IsSortedFunc(seen[name], func(a, b string) int { return number(t, a) - number(t, b) }) {
			t.Errorf("%s: versions out of order", name)
		}
	}
	slices.Sort(late)
	t.Logf("%d events in %s, %.0f B each, longest behind %s; writer and watcher used %s of CPU",
		report.Events, took, float64(report.Bytes)/float64(report.Events), report.Behind, cpu(t)-used)
	t.Logf("seen after the writer's answer by (below 0: before): min %s, median %s, p99 %s, max %s",
		late[0], late[len(late)/2], late[len(late)*99/100], late[len(late)-1])

	r, err := audit.Read(t.Context(), mark, audit.Options{Since: began, Until: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Malformed != 0 || len(r.Writers) != 1 || r.Writers[0].Kinds["httproutes"].Writes != objects*updates {
		t.Errorf("the audit log has %+v (%d lines, %d malformed)", r.Writers, r.Lines, r.Malformed)
	}
	if r.Objects != objects || len(r.Problems) != 0 {
		t.Errorf("%d objects, problems %+v", r.Objects, r.Problems)
	}
}

type answer struct {
	version string
	at      time.Time
}

// updateAll makes the routes and updates their statuses, each by a writer of
// its own, and returns every version that was answered.
func updateAll(t *testing.T, c *kube.Client) map[string][]answer {
	var mu sync.Mutex
	answered := map[string][]answer{}
	var group errgroup.Group
	for i := range objects {
		group.Go(func() error {
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint("r", i)}}
			if err := c.Create(t.Context(), route); err != nil {
				return err
			}
			all := []answer{{route.ResourceVersion, time.Now()}}
			for n := range updates {
				route.Status.Parents = []gatewayv1.RouteParentStatus{{
					ControllerName: "example.com/controller",
					ParentRef:      gatewayv1.ParentReference{Name: "gw"},
					Conditions: []metav1.Condition{{
						Type: "Accepted", Status: "True", Reason: fmt.Sprint("N", n), ObservedGeneration: route.Generation, LastTransitionTime: metav1.Now()}},
				}}
				if err := c.Status().Update(t.Context(), route, &client.SubResourceUpdateOptions{}); err != nil {
					return err
				}
				all = append(all, answer{route.ResourceVersion, time.Now()})
			}
			mu.Lock()
			defer mu.Unlock()
			answered[route.Name] = all
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return answered
}

func number(t *testing.T, version string) int {
	n, err := strconv.Atoi(version)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cpu is what this process has used.
func cpu(t *testing.T) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
