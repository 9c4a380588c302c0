package scenario_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

// right answers every host as its own route does.
func right(w http.ResponseWriter, r *http.Request) {
	route, _, _ := strings.Cut(r.Host, ".")
	w.Header().Set(marker.RouteHeader, route)
	fmt.Fprint(w, "body")
}

// hosts are those of n routes on listeners.
func hosts(n int, listeners ...string) []scenario.Expectation {
	var all []scenario.Expectation
	for i := range n {
		for _, l := range listeners {
			name := fmt.Sprintf("route-%05d", i)
			all = append(all, scenario.Expectation{name + "." + l + ".gatemark.test", marker.Expect(name, 1)})
		}
	}
	return all
}

func TestSweepAsksEveryReplicaForEveryRoute(t *testing.T) {
	var asked [2]atomic.Int32
	s := &scenario.Stage{}
	for i := range asked {
		s.Replicas = append(s.Replicas, scenariotest.Replica(t, fmt.Sprintf("ns/envoy-%d", i), func(w http.ResponseWriter, r *http.Request) {
			asked[i].Add(1)
			right(w, r)
		}))
	}
	all := hosts(10, "l0", "l1")
	swept, err := scenario.SweepRoutes(t.Context(), s, all)
	if err != nil || swept.Asked != 40 || swept.Right != 40 || len(swept.Words()) != 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	if a, b := asked[0].Load(), asked[1].Load(); a != 20 || b != 20 {
		t.Errorf("the replicas were asked %d and %d times, want 20", a, b)
	}
}

func TestSweepTellsWrongAnswersApart(t *testing.T) {
	bad := func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.Host, ".")
		switch {
		case name < "route-00010":
			http.NotFound(w, r)
		case name == "route-00010":
			w.Header().Set(marker.RouteHeader, "route-00011")
		case name == "route-00011": // 200, without a marker
		case name == "route-00012":
			w.WriteHeader(http.StatusServiceUnavailable)
		case name == "route-00013":
			w.Header().Set("Content-Length", "10")
			right(w, r) // is cut
		case name == "route-00014":
			panic(http.ErrAbortHandler)
		default:
			right(w, r)
		}
	}
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/bad", bad), scenariotest.Replica(t, "ns/good", right)}}
	swept, err := scenario.SweepRoutes(t.Context(), s, hosts(20, "l0"))
	if err != nil {
		t.Fatal(err)
	}
	if swept.Asked != 40 || swept.Right != 25 {
		t.Errorf("asked %d, right %d", swept.Asked, swept.Right)
	}
	want := []string{"10× status 404", "2× answered by another route", "1× cut answer", "1× no answer", "1× status 503"}
	if diff := cmp.Diff(want, swept.Words()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if len(swept.Examples) != 15 || !slices.Contains(swept.Examples, "route-00003.l0.gatemark.test on ns/bad: status 404") {
		t.Errorf("examples %q", swept.Examples)
	}
}

func TestSweepBoundsItsExamples(t *testing.T) {
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/bad", http.NotFound)}}
	swept, err := scenario.SweepRoutes(t.Context(), s, hosts(50, "l0"))
	if err != nil || swept.Wrong["status 404"] != 50 || len(swept.Examples) != scenario.ExcerptLines {
		t.Errorf("%d wrong, %d examples, %v", swept.Wrong["status 404"], len(swept.Examples), err)
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	s := &scenario.Stage{Replicas: []kube.Replica{scenariotest.Replica(t, "ns/good", right)}}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if swept, err := scenario.SweepRoutes(ctx, s, hosts(5, "l0")); err == nil {
		t.Errorf("a sweep without time is complete: %+v", swept)
	}
}
