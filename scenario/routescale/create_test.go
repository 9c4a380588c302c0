package routescale

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/internal/kubetest"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/audit"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// onServer is a trial on a real API server, without a gateway.
func onServer(t testing.TB, c *kube.Client, namespace string, set map[string]any) *scaling {
	t.Helper()
	s := &scaling{Trial: scenariotest.Trial(t, Scenario, set)}
	s.Kube, s.Namespace, s.Result.ID = c, namespace, namespace
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	kube.Own(ns, s.RunID, s.Result.ID)
	if err := kube.Create(t.Context(), c, ns); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.namespaces, err = s.MakeNamespaces(t.Context(), s.Values.Int("namespaces")); err != nil {
		t.Fatal(err)
	}
	s.model = testModel(t, s)
	return s
}

// BenchmarkCreate creates routes, each with a Service and an EndpointSlice, in
// turn with a bare client that has all bodies ready and reads no answer: 5,000
// of each, in ten blocks. Then everything is removed as after an interrupt.
func BenchmarkCreate(b *testing.B) {
	c, _ := kubetest.Start(b)
	for b.Loop() {
		const blocks, each = 10, 500
		s := onServer(b, c, "bench", map[string]any{"namespaces": 50})
		var err error
		s.status, err = scenario.WatchRouteStatusEverywhere(b.Context(), s.Trial, scenario.HTTPRoute, s.Target.ControllerName, 1)
		if err != nil {
			b.Fatal(err)
		}
		bare := newBare(b, c, s)
		var ours, theirs time.Duration
		for block := range blocks {
			began := time.Now()
			if err := s.create(b.Context(), each, nil); err != nil {
				b.Fatal(err)
			}
			ours += time.Since(began)
			bodies := bare.prepare(b, s, 50000+block*each, each)
			began = time.Now()
			bare.post(b, bodies, s.Values.Int("writers"))
			theirs += time.Since(began)
		}
		s.status.Stop()
		if got := s.status.Versions(); got != 2*blocks*each {
			b.Errorf("the watch brought %d versions of %d routes", got, 2*blocks*each)
		}
		objects := float64(3 * blocks * each)
		b.ReportMetric(objects/ours.Seconds(), "objects/s")
		b.ReportMetric(objects/theirs.Seconds(), "bare-objects/s")
		b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-bare")
		b.ReportMetric(peak(b)/1e6, "peak-MB")
		began, told := time.Now(), 0
		removal, err := kube.DeleteAll(b.Context(), c, kube.DeleteOptions{Owned: kube.OwnedBy(s.RunID, ""), Progress: func(string, ...any) { told++ }})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("removed %d objects in %s, with progress %d times", removal.Deleted, time.Since(began), told)
		b.ReportMetric(time.Since(began).Seconds()/float64(removal.Deleted)*15000, "s/15000-removed")
	}
}

// peak is the most memory that this process had resident.
func peak(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes * 1024
}

// bare is what a client can do at most: requests that are ready.
type bare struct {
	http *http.Client
	host string
}

func newBare(t testing.TB, c *kube.Client, s *scaling) *bare {
	t.Helper()
	h, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &bare{h, c.Config.Host}
}

type request struct {
	path string
	body []byte
}

// prepare makes the requests for routes from a number on, three for each.
func (r *bare) prepare(t testing.TB, s *scaling, from, n int) [][]request {
	t.Helper()
	paths := []string{"/api/v1/namespaces/%s/services", "/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices", "/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes"}
	kinds := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Service"), {Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, gatewayv1.SchemeGroupVersion.WithKind("HTTPRoute")}
	all := make([][]request, n)
	for i := range all {
		one := s.newRoute(from + i)
		for j, o := range s.model.objects(one) {
			o.GetObjectKind().SetGroupVersionKind(kinds[j])
			body, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = append(all[i], request{fmt.Sprintf(paths[j], one.namespace), body})
		}
	}
	return all
}

func (r *bare) post(t testing.TB, all [][]request, workers int) {
	t.Helper()
	err := kube.Parallel(t.Context(), len(all), workers, nil, func(ctx context.Context, i int) error {
		for _, one := range all[i] {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.host+one.path, bytes.NewReader(one.body))
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := r.http.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusCreated {
				return fmt.Errorf("%s: %s, %w", one.path, res.Status, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoStatusIsMissed holds what the watch brought against the audit log: every
// status that was written while routes were created as fast as can be.
func TestNoStatusIsMissed(t *testing.T) {
	c, cluster := kubetest.Start(t)
	s := onServer(t, c, "statuses", map[string]any{"namespaces": 1})
	mark, err := audit.Mark(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	s.status, err = scenario.WatchRouteStatusEverywhere(t.Context(), s.Trial, scenario.HTTPRoute, s.Target.ControllerName, 1)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const routes, writes = 600, 4
	written := make(chan error, 1)
	go func() {
		written <- kube.Parallel(t.Context(), routes, 8, nil, func(ctx context.Context, i int) error { return s.say(ctx, i, writes) })
	}()
	if err := s.create(t.Context(), routes, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	s.status.AllCurrent(t.Context(), routes, time.Now().Add(time.Minute))
	s.status.Stop()
	report, err := audit.Read(t.Context(), mark, audit.Options{Since: began, Until: time.Now(), Namespace: s.namespaces[0],
		ControllerOf: func(string, string) (string, bool) { return s.Target.ControllerName, true }})
	if err != nil {
		t.Fatal(err)
	}
	logged := report.By(func(audit.Writer) bool { return true }, "httproutes").Writes
	if got := s.status.Versions() - routes; got != logged || logged != routes*writes {
		t.Errorf("the watch brought %d versions of statuses, the audit log has %d, and %d were written", got, logged, routes*writes)
	}
	if _, missing := latest(s.status.Instants(), s.routes); missing > 0 {
		t.Errorf("%d of %d routes are not current", missing, routes)
	}
}

// say writes the status of a route so many times, once it is there.
func (s *scaling) say(ctx context.Context, number, writes int) error {
	r := s.newRoute(number)
	var http gatewayv1.HTTPRoute
	for {
		err := s.Kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, &http)
		if err == nil {
			break
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := pause(ctx, leastPause); err != nil {
			return err
		}
	}
	for n := range writes {
		condition := func(kind gatewayv1.RouteConditionType) metav1.Condition {
			status := metav1.ConditionTrue
			if n < writes-1 { // the last one says that it is
				status = metav1.ConditionFalse
			}
			return metav1.Condition{Type: string(kind), Status: status, Reason: fmt.Sprintf("Write%d", n), ObservedGeneration: http.Generation, LastTransitionTime: metav1.Now()}
		}
		http.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: http.Spec.ParentRefs[0], ControllerName: gatewayv1.GatewayController(s.Target.ControllerName),
			Conditions: []metav1.Condition{condition(gatewayv1.RouteConditionAccepted), condition(gatewayv1.RouteConditionResolvedRefs)},
		}}
		if err := s.Kube.Status().Update(ctx, &http); err != nil {
			return err
		}
	}
	return nil
}
