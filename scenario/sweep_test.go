package scenario

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/marker"
	"github.com/google/go-cmp/cmp"
)

// replica is a data-plane pod that answers with handler.
func replica(t *testing.T, name string, handler http.HandlerFunc) kube.Replica {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	address := netip.MustParseAddrPort(s.Listener.Addr().String())
	return kube.Replica{Pod: name, IP: address.Addr(), Port: address.Port(), Serving: true}
}

// right answers every host as its own route does.
func right(w http.ResponseWriter, r *http.Request) {
	route, _, _ := strings.Cut(r.Host, ".")
	w.Header().Set(marker.RouteHeader, route)
	fmt.Fprint(w, "body")
}

func TestSweepAsksEveryReplicaForEveryRoute(t *testing.T) {
	var asked [2]atomic.Int32
	s := &stage{}
	for i := range asked {
		s.replicas = append(s.replicas, replica(t, fmt.Sprintf("ns/envoy-%d", i), func(w http.ResponseWriter, r *http.Request) {
			asked[i].Add(1)
			right(w, r)
		}))
	}
	hosts := routeHosts(10, []listener{{Name: "l0"}, {Name: "l1"}})
	swept, err := sweepRoutes(t.Context(), s, hosts)
	if err != nil || swept.asked != 40 || swept.right != 40 || len(swept.words()) != 0 {
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
	s := &stage{replicas: []kube.Replica{replica(t, "ns/bad", bad), replica(t, "ns/good", right)}}
	swept, err := sweepRoutes(t.Context(), s, routeHosts(20, []listener{{Name: "l0"}}))
	if err != nil {
		t.Fatal(err)
	}
	if swept.asked != 40 || swept.right != 25 {
		t.Errorf("asked %d, right %d", swept.asked, swept.right)
	}
	want := []string{"10× status 404", "2× answered by another route", "1× cut answer", "1× no answer", "1× status 503"}
	if diff := cmp.Diff(want, swept.words()); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if len(swept.examples) != 15 || !slices.Contains(swept.examples, "route-00003.l0.gatemark.test on ns/bad: status 404") {
		t.Errorf("examples %q", swept.examples)
	}
}

func TestSweepBoundsItsExamples(t *testing.T) {
	s := &stage{replicas: []kube.Replica{replica(t, "ns/bad", http.NotFound)}}
	swept, err := sweepRoutes(t.Context(), s, routeHosts(50, []listener{{Name: "l0"}}))
	if err != nil || swept.wrong["status 404"] != 50 || len(swept.examples) != excerptLines {
		t.Errorf("%d wrong, %d examples, %v", swept.wrong["status 404"], len(swept.examples), err)
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	s := &stage{replicas: []kube.Replica{replica(t, "ns/good", right)}}
	ctx, cancel := contextAfter(t, 0)
	defer cancel()
	if swept, err := sweepRoutes(ctx, s, routeHosts(5, []listener{{Name: "l0"}})); err == nil {
		t.Errorf("a sweep without time is complete: %+v", swept)
	}
}
